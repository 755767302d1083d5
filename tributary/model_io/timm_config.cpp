#include "tributary/model_io/timm_config.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "tributary/base/error.h"
#include "tributary/base/files.h"
#include "tributary/base/text.h"

namespace tributary {
namespace {

using nlohmann::json;

std::string config_of(const std::string& path) {
  return (std::filesystem::path(path).parent_path() / "config.json").string();
}

// The parsed file; null if there is none, or if it is not timm's.
json timm_config(const std::string& file) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(file, error)) return nullptr;
  constexpr int64_t kMostBytes = 1 << 20;
  const json whole = json::parse(read_text(file, kMostBytes), nullptr, /*allow_exceptions=*/false);
  const bool timm = whole.is_object() && whole.contains("pretrained_cfg") && whole.at("pretrained_cfg").is_object();
  return timm ? whole : json(nullptr);
}

std::string three_values(const json& list) {
  if (!list.is_array() || list.size() != 3) throw std::runtime_error("a mean or std without three numbers");
  return fmt::format("{},{},{}", list[0].get<double>(), list[1].get<double>(), list[2].get<double>());
}

void apply(const json& whole, ImportOptions& options) {
  constexpr int64_t kLargestSide = 4096;
  const json& config = whole.at("pretrained_cfg");
  const std::vector<std::string> known = architecture_names();
  const std::string name = whole.value("architecture", config.value("architecture", std::string()));
  if (options.architecture.empty() && std::find(known.begin(), known.end(), name) != known.end())
    options.architecture = name;
  if (options.size == 0 && config.contains("input_size")) {
    const json& side = config.at("input_size").at(2);
    if (!side.is_number_integer()) throw std::runtime_error("an input_size that is no whole number");
    options.size = side.get<int64_t>();
  }
  if (options.size < 0 || options.size > kLargestSide) throw std::runtime_error("a size that is out of range");
  const double crop = config.value("crop_pct", 1.0);
  if (!(crop > 0.1 && crop <= 1)) throw std::runtime_error("a crop_pct outside 0.1 to 1");
  if (options.resize == 0 && options.size > 0)
    options.resize = static_cast<int64_t>(std::floor(static_cast<double>(options.size) / crop));
  if (options.resize > kLargestSide) throw std::runtime_error("a crop_pct that is too small for its size");
  if (options.interpolation == InterpolationChoice::kAuto)
    options.interpolation = config.value("interpolation", std::string("bicubic")) == "bicubic"
                                ? InterpolationChoice::kBicubic
                                : InterpolationChoice::kBilinear;
  if (options.mean.empty() && config.contains("mean")) options.mean = three_values(config.at("mean"));
  if (options.deviation.empty() && config.contains("std")) options.deviation = three_values(config.at("std"));
  options.aspect = Aspect::kKeep;
}

}  // namespace

bool apply_timm_config(const std::string& path, ImportOptions& options) {
  const std::string file = config_of(path);
  const json whole = timm_config(file);
  if (whole.is_null()) return false;
  try {
    apply(whole, options);
  } catch (const std::exception& error) {
    input_error(
        "{}: invalid preprocessing ({}); correct it, or move the weights to another folder and give --mean and --std",
        file, printable(error.what(), 160));
  }
  return true;
}

bool knows_preprocessing(const std::string& path, const ImportOptions& options) {
  return (!options.mean.empty() && !options.deviation.empty()) || !timm_config(config_of(path)).is_null();
}

}  // namespace tributary
