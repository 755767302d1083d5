#include "tributary/experiments/tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <mutex>
#include <nlohmann/json.hpp>

#include "tributary/base/error.h"
#include "tributary/base/interrupt.h"
#include "tributary/base/stopwatch.h"
#include "tributary/base/text.h"
#include "tributary/base/threads.h"
#include "tributary/terminal/table.h"

namespace tributary {
namespace {

using Arguments = std::vector<std::string>;

const TableDomain& domain_named(const TableTask& task, const std::string& name) {
  for (const TableDomain& domain : task.domains)
    if (domain.name == name) return domain;
  input_error("this benchmark has no domain '{}'", name);
}

int64_t seeds_of(const TableTask& task, const TableRow& row) {
  return row.seeds > 0 ? row.seeds : task.seeds;
}

int64_t most_seeds(const TableTask& task) {
  int64_t most = 0;
  for (const TableRow& row : task.rows) most = std::max(most, seeds_of(task, row));
  return most;
}

Arguments joined(Arguments arguments, const Arguments& more) {
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

std::string source_file(const TableTask& task, const std::string& domain, int64_t seed) {
  return fmt::format("{}/sources/{}-seed{}.safetensors", task.out, domain, seed);
}

std::string run_folder(const TableTask& task, const TableRow& row, const std::string& target, int64_t seed) {
  return fmt::format("{}/runs/{}-{}-seed{}", task.out, row.key, target, seed);
}

Arguments training_of(const TableTask& task, const TableDomain& domain, int64_t seed) {
  Arguments own = {"train",
                   "--data",
                   domain.train,
                   "--name",
                   domain.name,
                   "--seed",
                   std::to_string(seed),
                   "--out",
                   source_file(task, domain.name, seed)};
  if (domain.test != domain.train) own = joined(own, {"--validation", domain.test});
  return joined(joined(own, task.train_flags), task.common_flags);
}

Arguments adaptation_of(const TableTask& task, const TableRow& row, const std::string& target, int64_t seed) {
  const TableDomain& domain = domain_named(task, target);
  Arguments own = {"adapt",
                   "--target",
                   domain.train,
                   "--test",
                   domain.test,
                   "--seed",
                   std::to_string(seed),
                   "--run",
                   run_folder(task, row, target, seed)};
  if (!domain.settings.empty()) own = joined(own, {"--benchmark", domain.settings});
  for (const TableDomain& source : task.domains)
    if (source.name != target) own = joined(own, {"--source", source_file(task, source.name, seed)});
  if (row.oracle) own = joined(own, {"--oracle-labels", domain.train});
  return joined(joined(joined(own, row.flags), task.adapt_flags), task.common_flags);
}

struct Job {
  std::string what;
  std::function<std::string()> work;  // returns a short result for the progress line
  std::function<void(const std::string& why)> failed;
};

// The jobs of this machine.
std::vector<Job> own_jobs(const TableTask& task, const std::vector<Job>& all) {
  std::vector<Job> own;
  for (size_t i = 0; i < all.size(); ++i)
    if (static_cast<int64_t>(i) % task.machines == task.machine) own.push_back(all[i]);
  return own;
}

// Runs jobs in parallel and reports each when it ends. Jobs that run out of memory are retried at the end, one by one.
void run_jobs(const std::vector<Job>& jobs, int parallel, const TableProgress& progress) {
  std::mutex mutex;
  int64_t done = 0;
  std::vector<const Job*> retries;
  const auto attempt = [&](const Job& job, bool last) {
    std::string why, message = job.what;
    try {
      message += job.work();
    } catch (const Interrupted&) {
      throw;
    } catch (const MemoryError& error) {
      if (!last) {
        const std::lock_guard<std::mutex> lock(mutex);
        retries.push_back(&job);
        return;
      }
      why = error.what();
    } catch (const std::exception& error) {
      why = error.what();
    }
    const std::lock_guard<std::mutex> lock(mutex);
    if (!why.empty()) {
      job.failed(why);
      message += " failed: " + why;
    }
    progress(++done, static_cast<int64_t>(jobs.size()), message);
  };
  parallel_for(static_cast<int64_t>(jobs.size()), parallel,
               [&](int64_t index) { attempt(jobs[static_cast<size_t>(index)], parallel == 1); });
  for (const Job* job : retries) attempt(*job, true);
}

void train_sources(const TableTask& task, const TableCall& call, const TableProgress& progress) {
  std::filesystem::create_directories(task.out + "/sources");
  std::vector<Job> jobs;
  for (int64_t seed = 0; seed < most_seeds(task); ++seed)
    for (const TableDomain& domain : task.domains)
      if (task.restart || !std::filesystem::exists(source_file(task, domain.name, seed)))
        jobs.push_back({fmt::format("source {}, seed {}", domain.name, seed),
                        [&task, &call, &domain, seed] {
                          call(training_of(task, domain, seed));
                          return "";
                        },
                        [&domain](const std::string& why) { work_error("source {} failed: {}", domain.name, why); }});
  run_jobs(own_jobs(task, jobs), task.jobs, progress);
  task.barrier();
}

// A task that only collects the results of finished jobs.
TableTask collecting(TableTask task) {
  task.machine = 0;
  task.machines = 1;
  task.barrier = [] {};
  task.restart = false;
  std::erase(task.common_flags, "--restart");
  return task;
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

TableResult run_table(const TableTask& task, const TableCall& call, const TableProgress& progress) {
  const Stopwatch watch;
  for (const std::string& target : task.targets) domain_named(task, target);
  train_sources(task, call, progress);
  TableResult result;
  std::vector<Job> jobs;
  for (const TableRow& row : task.rows) {
    for (const std::string& target : task.targets) {
      TableCell& cell = result.cells[row.key][target];
      for (auto* figures : {&cell.last, &cell.picked, &cell.with_labels})
        figures->resize(static_cast<size_t>(seeds_of(task, row)));
      for (int64_t seed = 0; seed < seeds_of(task, row); ++seed)
        jobs.push_back({fmt::format("{} on {}, seed {}", row.title, target, seed),
                        [&, &cell = cell, seed] {
                          const nlohmann::json accuracy = call(adaptation_of(task, row, target, seed)).at("accuracy");
                          const auto index = static_cast<size_t>(seed);
                          cell.last[index] = accuracy.at("last");
                          cell.picked[index] = accuracy.at("label_free").at("accuracy");
                          cell.with_labels[index] = accuracy.at("best_with_labels");
                          return fmt::format(": {:.1f} %", cell.last[index]);
                        },
                        [&cell = cell](const std::string& why) { cell.failure = why; }});
    }
  }
  run_jobs(own_jobs(task, jobs), task.jobs, progress);
  task.barrier();
  if (task.machines > 1 && task.machine == 0) result = run_table(collecting(task), call, [](auto...) {});
  for (auto& [row, cells] : result.cells)
    for (auto& [target, cell] : cells)
      if (!cell.failure.empty()) cell.last = cell.picked = cell.with_labels = {};
  result.seconds = watch.seconds();
  return result;
}

std::vector<TableCellFigure> row_figures(const TableTask& task, const TableResult& result, const TableRow& row,
                                         TableFigure figure) {
  const auto& cells = result.cells.at(row.key);
  std::vector<TableCellFigure> figures;
  double paper = 0;
  for (const std::string& target : task.targets) {
    const auto printed = row.paper.find(target);
    const bool known = printed != row.paper.end();
    figures.push_back(
        {figures_of(cells.at(target), figure), "failed", known ? std::optional(printed->second) : std::nullopt});
    paper += known ? printed->second / static_cast<double>(task.targets.size()) : NAN;
  }
  figures.push_back({over_targets(task, cells, figure, static_cast<size_t>(seeds_of(task, row))), "-",
                     std::isnan(paper) ? std::nullopt : std::optional(paper)});
  return figures;
}

std::string table_text(const TableTask& task, const TableResult& result, TableFigure figure, bool markdown) {
  std::vector<Column> columns = {{"method"}};
  for (const std::string& target : task.targets) columns.push_back({domain_named(task, target).column, Align::kRight});
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
        text += fmt::format("{},{},{},{:.3f},{:.3f},{:.3f},{}\n", row.key, target, s, cell.last[s], cell.picked[s],
                            cell.with_labels[s], paper);
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
  return {{"seeds", task.seeds}, {"seconds", result.seconds}, {"rows", rows}};
}

}  // namespace tributary
