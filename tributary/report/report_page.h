// The report as one page that needs nothing else: our front end (web/) with the data in it.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "tributary/report/report_data.h"

namespace tributary {

// The page without its data, embedded when the program was built.
std::string_view report_template();

// `data` as of report_data.h. Nothing in it can end the script that holds it, whatever names pictures have.
std::string report_page(const nlohmann::json& data);

// report.html of a run at `path`. Returns the data on it.
nlohmann::json write_report(const ReportSubject& subject, const ReportOptions& options, const std::string& path);

}  // namespace tributary
