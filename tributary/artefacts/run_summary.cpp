#include "tributary/artefacts/run_summary.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "tributary/base/json_number.h"
#include "tributary/base/text.h"
#include "tributary/terminal/sparkline.h"

namespace tributary {
namespace {

using nlohmann::json;

constexpr size_t kMaxSources = 6;
constexpr double kSmallestFall = 0.05;  // of the accuracy, in points: what one decimal shows

// The sources in decreasing order of weight.
std::string trusted_text(json sources) {
  std::stable_sort(sources.begin(), sources.end(), [](const json& a, const json& b) {
    return a.at("weight").get<double>() > b.at("weight").get<double>();
  });
  std::vector<std::string> parts;
  for (const json& source : sources) {
    if (parts.size() == kMaxSources) break;
    parts.push_back(
        fmt::format("{} {} %", source.at("name").get<std::string>(), percent(source.at("weight").get<double>())));
  }
  if (sources.size() > parts.size()) parts.push_back(fmt::format("{} more", sources.size() - parts.size()));
  return fmt::format("{}", fmt::join(parts, ", "));
}

// The classes that one source alone knows, with that source.
std::string lone_classes(const json& summary) {
  constexpr size_t kMost = 6;
  std::vector<std::string> parts;
  size_t more = 0;
  if (!summary.contains("known_by")) return {};
  for (const auto& [name, sources] : summary.at("known_by").items()) {
    if (sources.size() != 1) continue;
    if (parts.size() == kMost)
      ++more;
    else
      parts.push_back(fmt::format("{} (only {} knows it)", name, sources.at(0).get<std::string>()));
  }
  if (more > 0) parts.push_back(fmt::format("{} more classes", more));
  return fmt::format("{}", fmt::join(parts, ", "));
}

// "92 % (86 to 97)", rounded to whole percent: more digits would promise too much.
std::string estimate_text(const json& estimate) {
  return fmt::format("{:.0f} % ({:.0f} to {:.0f})", estimate.at("accuracy").get<double>(),
                     estimate.at("low").get<double>(), estimate.at("high").get<double>());
}

// The estimated accuracy without labels, before and after.
std::string estimates_text(const json& estimate) {
  const json &before = estimate.at("before"), &after = estimate.at("after");
  if (after.is_null()) return {};
  return (before.is_null() ? "" : estimate_text(before) + " → ") + estimate_text(after) + ", without labels";
}

std::string verdict_text(const json& verdict) {
  return fmt::format("{}: {}", verdict.at("decision").get<std::string>(),
                     fmt::join(verdict.at("reasons").get<std::vector<std::string>>(), "; "));
}

// The accuracy of the result, in percent.
double accuracy_after(const json& accuracy) {
  return accuracy.contains("kept") ? accuracy.at("kept").at("accuracy").get<double>()
                                   : accuracy.at("last").get<double>();
}

int64_t count_of(double pictures) {
  constexpr double kMost = 1e15;
  return static_cast<int64_t>(std::clamp(pictures, 0.0, kMost));
}

}  // namespace

std::string run_summary_text(const json& summary) {
  std::string text;
  const auto line = [&text](const char* head, const std::string& facts) {
    text += fmt::format("{:<13}{}\n", head, safe_line(facts));
  };
  const auto pictures = thousands(whole_number(summary.at("pictures")));
  if (summary.contains("verdict")) line("verdict", verdict_text(summary.at("verdict")));
  if (summary.contains("estimate"))
    if (const std::string figures = estimates_text(summary.at("estimate")); !figures.empty())
      line("estimated", figures);
  if (summary.contains("confidence")) {
    const json& confidence = summary.at("confidence");
    if (const auto check = whole_number(confidence.at("check")); check > 0 && confidence.at("calibrated").get<bool>())
      line("check", whole_number(confidence, "accepted", 1) == 0
                        ? fmt::format("all {} pictures", pictures)
                        : fmt::format("{} of {} pictures; of the others, about {:.2g} % are wrong", thousands(check),
                                      pictures, confidence.at("accept_error").get<double>()));
  }
  const auto done = summary.contains("stopped") ? whole_number(summary.at("stopped").at("round"))
                                                : whole_number(summary.at("rounds"));
  const int64_t kept = summary.contains("kept") ? whole_number(summary.at("kept").at("round")) : done;
  if (summary.contains("accuracy")) {
    const json& accuracy = summary.at("accuracy");
    const auto last = fmt::format("{:.1f} % in the last round", accuracy.at("last").get<double>());
    line("accuracy", fmt::format("{:.1f} → {}", accuracy.at("rounds").at(0).get<double>(),
                                 kept == done ? last
                                              : fmt::format("{:.1f} % in round {}, which was kept; {}",
                                                            accuracy_after(accuracy), kept, last)));
  }
  line("trusted", trusted_text(summary.at("sources")));
  if (const std::string alone = lone_classes(summary); !alone.empty()) line("unconfirmed", alone);
  const auto confident = summary.value("confident_rounds", std::vector<double>());
  if (!confident.empty())
    line("confident",
         fmt::format("{}  {} at the start, {} in the end, of {}", sparkline(confident),
                     thousands(count_of(confident.front())), thousands(count_of(confident.back())), pictures));
  line("changed",
       fmt::format("{} % of the predictions since the start", percent(summary.at("changed_share").get<double>())));
  const auto skipped =
      whole_number(summary, "skipped", whole_number(summary, "set_aside", 0));  // the latter in runs of 0.1
  const auto rounds = whole_number(summary.at("rounds"));
  text += fmt::format("\n{} pictures{}, {} round{}, {}\n", pictures,
                      skipped > 0 ? fmt::format(" ({} more skipped)", thousands(skipped)) : "", rounds,
                      rounds == 1 ? "" : "s", duration(summary.at("seconds").get<double>()));
  // A last round that is kept for good reasons needs no words.
  if (kept != done || (summary.contains("kept") && !summary.at("kept").value("judged", true)))
    line("kept", fmt::format("round {}: {}", kept, summary.at("kept").at("reason").get<std::string>()));
  if (summary.contains("stopped"))
    line("stopped", fmt::format("after round {}: {}", done, summary.at("stopped").at("reason").get<std::string>()));
  line("model", summary.at("model").get<std::string>());
  line("predictions", summary.at("predictions").get<std::string>());
  if (summary.contains("accuracy")) {
    const double fall =
        summary.at("accuracy").at("rounds").at(0).get<double>() - accuracy_after(summary.at("accuracy"));
    if (fall >= kSmallestFall) {
      text += "\n";
      line("WARNING",
           fmt::format("the adaptation lowered the accuracy by {:.1f} points; try --keep label-free, or use the "
                       "sources as they are",
                       fall));
    }
  }
  if (!summary.contains("collapse") && summary.contains("verdict") &&
      summary.at("verdict").contains("unadapted_model")) {
    text += "\n";
    line("WARNING", fmt::format("do not use this model; the unadapted one is probably better: {}",
                                summary.at("verdict").at("unadapted_model").get<std::string>()));
  }
  if (summary.contains("collapse")) {
    const json& collapse = summary.at("collapse");
    text += "\n";
    line("WARNING", fmt::format("this adaptation may have made things worse: {}",
                                fmt::join(collapse.at("signs").get<std::vector<std::string>>(), "; ")));
    if (collapse.contains("unadapted_model"))
      line("",
           fmt::format("compare it with the unadapted model, {}", collapse.at("unadapted_model").get<std::string>()));
  }
  return text;
}

}  // namespace tributary
