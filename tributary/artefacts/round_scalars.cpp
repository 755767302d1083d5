#include "tributary/artefacts/round_scalars.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <string_view>

#include "tributary/base/error.h"

namespace tributary {
namespace {

// The tag of a metric; empty if it is omitted.
std::string tag_of(const std::string& key) {
  static const std::map<std::string_view, std::string_view> kTags = {
      {"round", ""},
      {"rounds", ""},
      {"pictures", ""},
      {"weights", "weights"},
      {"weight_sum", "mixture/weight_sum"},
      {"entropy", "mixture/entropy"},
      {"marginal_entropy", "mixture/marginal_entropy"},
      {"initial_confident", "selection/initial_confident"},
      {"confident", "selection/confident"},
      {"mean_confidence", "selection/mean_confidence"},
      {"seconds", "seconds/round"},
      {"pictures_per_second", "speed/pictures_per_second"},
  };
  constexpr std::string_view kSeconds = "_seconds";
  if (const auto found = kTags.find(key); found != kTags.end()) return std::string(found->second);
  if (key.ends_with(kSeconds)) return "seconds/" + key.substr(0, key.size() - kSeconds.size());
  return "losses/" + key;
}

// Unique names, as parts of tags.
std::vector<std::string> distinct(const std::vector<std::string>& names) {
  std::vector<std::string> parts;
  for (size_t j = 0; j < names.size(); ++j) {
    const bool unique = std::count(names.begin(), names.end(), names[j]) == 1 && !names[j].empty();
    parts.push_back(unique ? names[j] : fmt::format("{} ({})", names[j], j + 1));
  }
  return parts;
}

}  // namespace

std::vector<Scalar> round_scalars(const nlohmann::json& metrics, const std::vector<std::string>& sources) {
  const std::vector<std::string> parts = distinct(sources);
  std::vector<Scalar> scalars;
  for (const auto& [key, value] : metrics.items()) {
    const std::string tag = tag_of(key);
    if (tag.empty()) continue;
    if (!value.is_array()) {
      scalars.push_back({tag, value.get<double>()});
    } else if (value.size() == 1 && parts.size() != 1) {  // shared by all sources
      scalars.push_back({tag, value[0].get<double>()});
    } else {
      TRIBUTARY_CHECK(value.size() <= parts.size(), "{} has {} numbers for {} sources", key, value.size(),
                      parts.size());
      for (size_t j = 0; j < value.size(); ++j)
        scalars.push_back({fmt::format("{}/{}", tag, parts[j]), value[j].get<double>()});
    }
  }
  return scalars;
}

}  // namespace tributary
