#include "tributary/io/model_info.h"

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "tributary/base/error.h"
#include "tributary/base/json_text.h"
#include "tributary/base/text.h"

namespace tributary {
namespace {

using nlohmann::json;

void check(const ModelInfo& info) {
  constexpr double kLargestMean = 1e6;
  if (info.architecture.empty()) throw std::runtime_error("no architecture");
  if (info.classes.size() < 2) throw std::runtime_error(fmt::format("{} classes", info.classes.size()));
  if (std::set<std::string>(info.classes.begin(), info.classes.end()).size() != info.classes.size())
    throw std::runtime_error("duplicate class name");
  constexpr size_t kMostOutputs = 1'000'000;
  if (info.outputs.size() > kMostOutputs) throw std::runtime_error(fmt::format("{} outputs", info.outputs.size()));
  for (const int64_t output : info.outputs)
    if (output < 0 || output >= static_cast<int64_t>(info.classes.size()))
      throw std::runtime_error(fmt::format("an output of class {} of {}", output, info.classes.size()));
  const Preprocessing& preprocessing = info.preprocessing;
  if (preprocessing.size < 1 || preprocessing.size > preprocessing.resize || preprocessing.resize > 4096)
    throw std::runtime_error(fmt::format("input size {} with resize {}", preprocessing.size, preprocessing.resize));
  if (info.feature_width < 1 || info.feature_width > 65536)
    throw std::runtime_error(fmt::format("feature width {}", info.feature_width));
  if (!(info.bottleneck_dropout >= 0 && info.bottleneck_dropout < 1))
    throw std::runtime_error("dropout outside [0, 1)");
  for (int c = 0; c < 3; ++c)
    if (!(std::abs(info.normalisation.mean[c]) <= kLargestMean) || !std::isfinite(info.normalisation.deviation[c]) ||
        !(info.normalisation.deviation[c] >= kSmallestDeviation))
      throw std::runtime_error(fmt::format("normalisation by a mean beyond {:g} or a deviation below {:g}",
                                           kLargestMean, kSmallestDeviation));
}

// Parses one of two names; a missing key means the first, for older files.
template <typename Enum>
Enum choice(const json& object, const char* key, std::pair<const char*, Enum> first,
            std::pair<const char*, Enum> second) {
  const std::string name = object.value(key, std::string(first.first));
  if (name == first.first) return first.second;
  if (name == second.first) return second.second;
  throw std::runtime_error(fmt::format("{} '{}'", key, name));
}

// Parses a size. JSON numbers such as 1e300 do not fit an integer.
int parse_size(const json& value) {
  const int64_t number = value.is_number_integer() ? value.get<int64_t>() : -1;
  if (number < 0 || number > std::numeric_limits<int>::max())
    throw std::runtime_error("a size that is not an integer in range");
  return static_cast<int>(number);
}

ModelInfo info_from(const json& object) {
  ModelInfo info;
  info.name = object.at("name");
  info.architecture = object.at("architecture");
  info.classes = object.at("classes").get<std::vector<std::string>>();
  info.preprocessing.size = parse_size(object.at("input_size"));
  info.preprocessing.resize = object.contains("resize") ? parse_size(object.at("resize")) : info.preprocessing.size;
  info.preprocessing.keep_aspect = object.value("keep_aspect", false);
  info.preprocessing.bicubic = choice<bool>(object, "interpolation", {"bilinear", false}, {"bicubic", true});
  info.normalisation.mean = object.at("mean");
  info.normalisation.deviation = object.at("deviation");
  info.bottleneck = object.value("bottleneck", true);
  info.feature_width = parse_size(object.at("feature_width"));
  info.bottleneck_dropout = object.at("bottleneck_dropout");
  info.classifier = choice<ClassifierKind>(object, "classifier", {"weight_norm", ClassifierKind::kWeightNorm},
                                           {"linear", ClassifierKind::kLinear});
  info.first_stride = choice<FirstStride>(object, "stride", {"3x3", FirstStride::kIn3x3}, {"1x1", FirstStride::kIn1x1});
  info.last_layer = object.value("last_layer", std::string());
  if (object.contains("outputs"))
    for (const json& output : object.at("outputs")) info.outputs.push_back(parse_size(output));
  if (object.contains("calibration"))
    info.calibration = calibration_from_json(object.at("calibration"), info.classes.size());
  check(info);
  return info;
}

// `error` may quote the file, so its text is made printable.
[[noreturn]] void invalid_description(const std::string& file, const std::exception& error) {
  input_error("{}: invalid model description ({}); create the file again with tributary train", file,
              printable(error.what(), 200));
}

}  // namespace

std::string to_json(const ModelInfo& info) {
  json object = {{"name", info.name},
                 {"architecture", info.architecture},
                 {"classes", info.classes},
                 {"input_size", info.preprocessing.size},
                 {"resize", info.preprocessing.resize},
                 {"keep_aspect", info.preprocessing.keep_aspect},
                 {"interpolation", info.preprocessing.bicubic ? "bicubic" : "bilinear"},
                 {"mean", info.normalisation.mean},
                 {"deviation", info.normalisation.deviation},
                 {"bottleneck", info.bottleneck},
                 {"feature_width", info.feature_width},
                 {"bottleneck_dropout", info.bottleneck_dropout},
                 {"classifier", info.classifier == ClassifierKind::kWeightNorm ? "weight_norm" : "linear"},
                 {"stride", info.first_stride == FirstStride::kIn3x3 ? "3x3" : "1x1"}};
  if (!info.last_layer.empty()) object["last_layer"] = info.last_layer;
  if (!info.outputs.empty()) object["outputs"] = info.outputs;
  if (info.calibration) object["calibration"] = to_json(*info.calibration);
  return json_text(object);
}

ModelInfo model_info_from_json(const std::string& text, const std::string& file) {
  try {
    return info_from(json::parse(text));
  } catch (const std::exception& error) {
    invalid_description(file, error);
  }
}

std::vector<ModelInfo> model_infos_from_json(const std::string& text, const std::string& file) {
  std::vector<ModelInfo> infos;
  try {
    const json list = json::parse(text);
    if (!list.is_array() || list.empty()) throw std::runtime_error("not a list of sources");
    for (const json& object : list) infos.push_back(info_from(object));
  } catch (const std::exception& error) {
    invalid_description(file, error);
  }
  return infos;
}

}  // namespace tributary
