// How a table's results are displayed.
#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "tributary/base/csv.h"
#include "tributary/base/text.h"
#include "tributary/experiments/tables.h"
#include "tributary/terminal/table.h"

namespace tributary {
namespace {

std::string column_of(const TableTask& task, const std::string& target) {
  for (const TableDomain& domain : task.domains)
    if (domain.name == target) return domain.column;
  return target;
}

const std::vector<double>& figures_of(const TableCell& cell, TableFigure figure) {
  switch (figure) {
    case TableFigure::kPicked:
      return cell.picked;
    case TableFigure::kWithLabels:
      return cell.with_labels;
    default:
      return cell.last;
  }
}

std::string figure_text(const std::vector<double>& percents) {
  const auto [mean, deviation] = mean_and_deviation(percents);
  return percents.size() == 1 ? fmt::format("{:.1f}", mean) : fmt::format("{:.1f} ± {:.1f}", mean, deviation);
}

std::string cell_text(const TableCellFigure& cell) {
  std::string text = cell.percents.empty() ? cell.missing : figure_text(cell.percents);
  if (cell.paper) text += fmt::format(" ({:.1f})", *cell.paper);
  return text;
}

// Mean over the targets, one value per seed; empty if a cell is.
std::vector<double> over_targets(const TableTask& task, const std::map<std::string, TableCell>& cells,
                                 TableFigure figure, size_t seeds) {
  std::vector<double> means(seeds, 0);
  for (const std::string& target : task.targets) {
    const std::vector<double>& percents = figures_of(cells.at(target), figure);
    if (percents.size() != means.size()) return {};
    for (size_t s = 0; s < means.size(); ++s) means[s] += percents[s] / static_cast<double>(task.targets.size());
  }
  return means;
}

}  // namespace

std::vector<TableCellFigure> row_figures(const TableTask& task, const TableResult& result, const TableRow& row,
                                         TableFigure figure) {
  const auto& cells = result.cells.at(row.key);
  const auto seeds = static_cast<size_t>(row.seeds > 0 ? row.seeds : task.seeds);
  std::vector<TableCellFigure> figures;
  double paper = 0;
  for (const std::string& target : task.targets) {
    const auto printed = row.paper.find(target);
    const bool known = printed != row.paper.end();
    figures.push_back(
        {figures_of(cells.at(target), figure), "failed", known ? std::optional(printed->second) : std::nullopt});
    paper += known ? printed->second / static_cast<double>(task.targets.size()) : NAN;
  }
  figures.push_back(
      {over_targets(task, cells, figure, seeds), "-", std::isnan(paper) ? std::nullopt : std::optional(paper)});
  return figures;
}

bool has_paper_figures(const TableTask& task) {
  for (const TableRow& row : task.rows)
    for (const std::string& target : task.targets)
      if (row.paper.count(target)) return true;
  return false;
}

std::vector<std::string> table_notes(const TableTask& task, const TableResult& result) {
  std::vector<std::string> notes;
  if (has_paper_figures(task))
    notes.emplace_back(
        "The paper's figures and ours are not chosen alike: the published scripts of MSFDA, CAiDA, SFDA and NRC print "
        "the best iteration, chosen with labels; ours are of the last round, or of the round kept without labels.");
  if (std::string mixed = mixed_sources_text(task.out, result.mixed); !mixed.empty())
    notes.push_back("Warning: " + mixed + ".");
  return notes;
}

std::string table_text(const TableTask& task, const TableResult& result, TableFigure figure, bool markdown) {
  std::vector<Column> columns = {{"method"}};
  for (const std::string& target : task.targets) columns.push_back({column_of(task, target), Align::kRight});
  columns.push_back({"mean", Align::kRight});
  Table table(columns);
  for (const TableRow& row : task.rows) {
    std::vector<std::string> cells = {row.title};
    for (const TableCellFigure& cell : row_figures(task, result, row, figure)) cells.push_back(cell_text(cell));
    table.add_row(cells);
  }
  return markdown ? table.to_markdown() : table.to_text();
}

std::string table_csv(const TableTask& task, const TableResult& result) {
  std::string text = "method,target,seed,last,label_free,best_with_labels,paper\n";
  for (const TableRow& row : task.rows)
    for (const std::string& target : task.targets) {
      const TableCell& cell = result.cells.at(row.key).at(target);
      const std::string paper = row.paper.count(target) ? fmt::format("{:.1f}", row.paper.at(target)) : "";
      for (size_t s = 0; s < cell.last.size(); ++s)
        text += fmt::format("{},{},{},{:.3f},{:.3f},{:.3f},{}\n", csv_field(row.key), csv_field(target), s,
                            cell.last[s], cell.picked[s], cell.with_labels[s], paper);
    }
  return text;
}

nlohmann::json table_json(const TableTask& task, const TableResult& result) {
  nlohmann::json rows = nlohmann::json::array();
  for (const TableRow& row : task.rows) {
    nlohmann::json object = {{"method", row.key}, {"title", row.title}};
    for (const std::string& target : task.targets) {
      const TableCell& cell = result.cells.at(row.key).at(target);
      nlohmann::json entry = {{"last", cell.last}, {"label_free", cell.picked}, {"best_with_labels", cell.with_labels}};
      if (row.paper.count(target)) entry["paper"] = row.paper.at(target);
      if (!cell.failure.empty()) entry["failure"] = cell.failure;
      object["targets"][target] = entry;
    }
    rows.push_back(object);
  }
  nlohmann::json sources = {
      {"found", result.found_sources}, {"trained", result.trained_sources}, {"files", nlohmann::json::array()}};
  for (const StoredSource& source : sources_of(task)) sources["files"].push_back(source.model);
  return {{"seeds", task.seeds},
          {"seconds", result.seconds},
          {"rows", rows},
          {"sources", sources},
          {"notes", table_notes(task, result)}};
}

}  // namespace tributary
