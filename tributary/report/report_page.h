// The report as one self-contained HTML page: the front end (web/) with the data embedded.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "tributary/report/report_data.h"

namespace tributary {

// The page without data, compiled into the program.
std::string_view report_template();

// Embeds `data` (report_data.h) in the page. Escapes it, so that no picture name can break out of the script element.
std::string report_page(const nlohmann::json& data);

// Writes the report of a run to `path` and returns its data.
nlohmann::json write_report(const ReportSubject& subject, const ReportOptions& options, const std::string& path);

}  // namespace tributary
