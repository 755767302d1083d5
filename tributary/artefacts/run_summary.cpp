#include "tributary/artefacts/run_summary.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "tributary/base/text.h"
#include "tributary/terminal/sparkline.h"

namespace tributary {
namespace {

using nlohmann::json;

constexpr size_t kMostSources = 6;

// The sources by weight, the heaviest first.
std::string trusted_text(json sources) {
  std::stable_sort(sources.begin(), sources.end(), [](const json& a, const json& b) {
    return a.at("weight").get<double>() > b.at("weight").get<double>();
  });
  std::vector<std::string> parts;
  for (const json& source : sources) {
    if (parts.size() == kMostSources) break;
    parts.push_back(
        fmt::format("{} {} %", source.at("name").get<std::string>(), percent(source.at("weight").get<double>())));
  }
  if (sources.size() > parts.size()) parts.push_back(fmt::format("{} more", sources.size() - parts.size()));
  return fmt::format("{}", fmt::join(parts, ", "));
}

}  // namespace

std::string run_summary_text(const json& summary) {
  std::string text;
  const auto line = [&text](const char* head, const std::string& facts) {
    text += fmt::format("{:<13}{}\n", head, facts);
  };
  const auto pictures = thousands(summary.at("pictures").get<int64_t>());
  if (summary.contains("accuracy"))
    line("accuracy", fmt::format("{:.1f} % in the last round", summary.at("accuracy").at("last").get<double>()));
  line("trusted", trusted_text(summary.at("sources")));
  const auto confident = summary.value("confident_rounds", std::vector<double>());
  if (!confident.empty())
    line("confident", fmt::format("{}  {} at the start, {} in the end, of {}", sparkline(confident),
                                  thousands(static_cast<int64_t>(confident.front())),
                                  thousands(static_cast<int64_t>(confident.back())), pictures));
  line("changed",
       fmt::format("{} % of the predictions since the start", percent(summary.at("changed_share").get<double>())));
  const auto skipped = summary.value("set_aside", int64_t{0});
  text += fmt::format("\n{} pictures{}, {} rounds, {}\n", pictures,
                      skipped > 0 ? fmt::format(" ({} more skipped)", thousands(skipped)) : "",
                      summary.at("rounds").get<int64_t>(), duration(summary.at("seconds").get<double>()));
  line("model", summary.at("model").get<std::string>());
  line("predictions", summary.at("predictions").get<std::string>());
  if (summary.contains("collapse")) {
    const json& collapse = summary.at("collapse");
    text += "\n";
    line("WARNING", fmt::format("this adaptation may have made things worse: {}",
                                fmt::join(collapse.at("signs").get<std::vector<std::string>>(), "; ")));
    line("", fmt::format("compare it with what it began with, {}", collapse.at("unadapted_model").get<std::string>()));
  }
  return text;
}

}  // namespace tributary
