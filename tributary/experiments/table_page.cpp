#include "tributary/experiments/table_page.h"

#include "tributary/base/text.h"
#include "tributary/report/report_data.h"

namespace tributary {
namespace {

nlohmann::json cell_json(const TableCellFigure& cell) {
  nlohmann::json object = {{"mean", nullptr}, {"deviation", nullptr}, {"paper", nullptr}};
  if (cell.paper) object["paper"] = *cell.paper;
  if (cell.percents.empty()) return cell.paper ? object : nlohmann::json();
  const auto [mean, deviation] = mean_and_deviation(cell.percents);
  object["mean"] = mean;
  if (cell.percents.size() > 1) object["deviation"] = deviation;
  return object;
}

nlohmann::json rows_json(const TableTask& task, const TableResult& result, TableFigure figure) {
  nlohmann::json rows = nlohmann::json::array();
  for (const TableRow& row : task.rows) {
    nlohmann::json cells = nlohmann::json::array();
    for (const TableCellFigure& cell : row_figures(task, result, row, figure)) cells.push_back(cell_json(cell));
    rows.push_back({{"method", row.title}, {"cells", cells}});
  }
  return rows;
}

}  // namespace

nlohmann::json table_page(const TableTask& task, const TableResult& result, const std::string& name,
                          const std::string& command, const std::vector<std::pair<std::string, TableFigure>>& tables) {
  nlohmann::json data = {{"schema", 1},
                         {"kind", "table"},
                         {"name", name},
                         {"created", time_text()},
                         {"command", command},
                         {"versions", versions()},
                         {"columns", nlohmann::json::array()},
                         {"tables", nlohmann::json::array()},
                         {"notes", table_notes(task, result)}};
  for (const std::string& target : task.targets)
    for (const TableDomain& domain : task.domains)
      if (domain.name == target) data["columns"].push_back(domain.column);
  data["columns"].push_back("mean");
  for (const auto& [title, figure] : tables)
    data["tables"].push_back({{"title", title}, {"rows", rows_json(task, result, figure)}});
  return data;
}

}  // namespace tributary
