// Page data of a benchmark's tables (report/report_page.h).
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "tributary/experiments/tables.h"

namespace tributary {

// `command` is the command that made the tables, which are shown in the given order under their titles.
nlohmann::json table_page(const TableTask& task, const TableResult& result, const std::string& name,
                          const std::string& command, const std::vector<std::pair<std::string, TableFigure>>& tables);

}  // namespace tributary
