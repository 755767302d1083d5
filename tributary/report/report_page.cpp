#include "tributary/report/report_page.h"

#include <nlohmann/json.hpp>

#include "tributary/base/error.h"
#include "tributary/base/files.h"
#include "tributary/base/json_text.h"

namespace tributary {
namespace {

std::string replaced(std::string_view page, std::string_view marker, const std::string& text) {
  const size_t at = page.find(marker);
  TRIBUTARY_CHECK(at != std::string_view::npos, "the page template has no {}", marker);
  std::string whole(page.substr(0, at));
  whole += text;
  whole += page.substr(at + marker.size());
  return whole;
}

std::string escaped(const std::string& text) {
  std::string safe;
  for (const char letter : text) {
    if (letter == '<')
      safe += "&lt;";
    else if (letter == '&')
      safe += "&amp;";
    else
      safe += letter;
  }
  return safe;
}

// Escapes "<": "</script" would end the script element, and "<!--" would start a comment in it.
std::string script_safe(const nlohmann::json& data) {
  const std::string text = json_text(data);
  std::string safe;
  safe.reserve(text.size());
  for (const char letter : text) {
    if (letter == '<')
      safe += "\\u003c";
    else
      safe += letter;
  }
  return safe;
}

}  // namespace

std::string report_page(const nlohmann::json& data) {
  const std::string titled = replaced(report_template(), "@TITLE@", escaped(data.at("name").get<std::string>()));
  return replaced(titled, "@DATA@", script_safe(data));
}

nlohmann::json write_report(const ReportSubject& subject, const ReportOptions& options, const std::string& path) {
  nlohmann::json data = report_data(subject, options);
  write_file_atomically(path, report_page(data));
  return data;
}

}  // namespace tributary
