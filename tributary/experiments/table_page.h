// A benchmark's tables as the data of a page (report/report_page.h).
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "tributary/experiments/tables.h"

namespace tributary {

// `command` made it; `tables` are shown in this order, each under its title.
nlohmann::json table_page(const TableTask& task, const TableResult& result, const std::string& name,
                          const std::string& command, const std::vector<std::pair<std::string, TableFigure>>& tables);

}  // namespace tributary
