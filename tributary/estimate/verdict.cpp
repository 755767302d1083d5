#include "tributary/estimate/verdict.h"

#include <fmt/format.h>

namespace tributary {
namespace {

std::string points(double share) {
  return fmt::format("{:.0f} %", 100 * share);
}

std::vector<std::string> reasons_against(const VerdictFacts& facts) {
  std::vector<std::string> reasons = facts.collapse;
  if (!facts.adapted) return reasons;
  if (facts.before && facts.after && facts.after->interval.high < facts.before->accuracy)
    reasons.push_back(fmt::format("the estimated accuracy fell from {} to {}", points(facts.before->accuracy),
                                  points(facts.after->accuracy)));
  if (facts.contradicts_sources)
    reasons.push_back("the labels agree less with the unadapted sources than these agree among themselves");
  return reasons;
}

std::vector<std::string> doubts(const VerdictFacts& facts) {
  constexpr double kWide = 0.10, kSpread = 0.05;
  constexpr int64_t kFewPictures = 200, kFewSources = 3;
  std::vector<std::string> reasons;
  if (!facts.after) {
    reasons.push_back(facts.adapted_before
                          ? "the sources were adapted together before, so their agreement does not tell the accuracy; "
                            "measure it with tributary suggest --random"
                          : "one source alone gives no estimate of the accuracy");
    return reasons;
  }
  const AccuracyEstimate& after = *facts.after;
  if (after.interval.low < facts.required)
    reasons.push_back(fmt::format("the accuracy may be as low as {}, below the required {}", points(after.interval.low),
                                  points(facts.required)));
  if (facts.sources < kFewSources) reasons.push_back("two sources cannot tell which of them errs");
  if (after.half > kWide)
    reasons.push_back(fmt::format("the estimate is uncertain by {:.0f} points", 100 * after.half));
  if (after.spread > kSpread)
    reasons.push_back(fmt::format("the sources disagree by {:.0f} points about the accuracy", 200 * after.spread));
  if (facts.rare_classes > 0)
    reasons.push_back(fmt::format("{} class{} almost never predicted", facts.rare_classes,
                                  facts.rare_classes == 1 ? " is" : "es are"));
  if (facts.pictures < kFewPictures) reasons.push_back(fmt::format("{} pictures are few", facts.pictures));
  return reasons;
}

}  // namespace

const char* name_of(Decision decision) {
  switch (decision) {
    case Decision::kUse:
      return "use";
    case Decision::kCheck:
      return "check";
    case Decision::kDoNotUse:
      return "do not use";
  }
  return "";
}

Verdict verdict_of(const VerdictFacts& facts) {
  if (std::vector<std::string> reasons = reasons_against(facts); !reasons.empty())
    return {Decision::kDoNotUse, std::move(reasons)};
  if (std::vector<std::string> reasons = doubts(facts); !reasons.empty()) return {Decision::kCheck, std::move(reasons)};
  return {Decision::kUse,
          {fmt::format("the estimated accuracy is at least {}, and nothing speaks against the result",
                       points(facts.after->interval.low))}};
}

}  // namespace tributary
