#include "tributary/report/report_page.h"

#include <initializer_list>
#include <nlohmann/json.hpp>
#include <utility>

#include "tributary/base/error.h"
#include "tributary/base/files.h"
#include "tributary/base/json_text.h"
#include "tributary/base/text.h"

namespace tributary {
namespace {

// The template with texts in the places of its markers, which may occur in the texts.
std::string filled(std::string_view page, std::initializer_list<std::pair<std::string_view, std::string>> parts) {
  std::string whole;
  for (const auto& [marker, text] : parts) {
    const size_t at = page.find(marker);
    TRIBUTARY_CHECK(at != std::string_view::npos, "the page template has no {} in its place", marker);
    whole += page.substr(0, at);
    whole += text;
    page.remove_prefix(at + marker.size());
  }
  return whole += page;
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
  const std::string name = utf8_text(data.at("name").get<std::string>());
  return filled(report_template(), {{"@TITLE@", escaped(name)}, {"@DATA@", script_safe(data)}});
}

nlohmann::json write_report(const ReportSubject& subject, const ReportOptions& options, const std::string& path) {
  nlohmann::json data = report_data(subject, options);
  write_file_atomically(path, report_page(data));
  return data;
}

}  // namespace tributary
