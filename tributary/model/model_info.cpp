#include "tributary/model/model_info.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "tributary/base/error.h"

namespace tributary {
namespace {

using nlohmann::json;

void check(const ModelInfo& info) {
  if (info.architecture.empty()) throw std::runtime_error("no architecture");
  if (info.classes.size() < 2) throw std::runtime_error(fmt::format("{} classes", info.classes.size()));
  if (std::set<std::string>(info.classes.begin(), info.classes.end()).size() != info.classes.size())
    throw std::runtime_error("a class name twice");
  if (info.input_size < 1 || info.input_size > 4096)
    throw std::runtime_error(fmt::format("input size {}", info.input_size));
  if (info.feature_width < 1 || info.feature_width > 65536)
    throw std::runtime_error(fmt::format("feature width {}", info.feature_width));
  if (!(info.bottleneck_dropout >= 0 && info.bottleneck_dropout < 1))
    throw std::runtime_error("dropout outside [0, 1)");
  for (int c = 0; c < 3; ++c)
    if (!std::isfinite(info.normalisation.mean[c]) || !(info.normalisation.deviation[c] > 0) ||
        !std::isfinite(info.normalisation.deviation[c]))
      throw std::runtime_error("normalisation that is not a finite mean and a positive deviation");
}

}  // namespace

std::string to_json(const ModelInfo& info) {
  return json{{"name", info.name},
              {"architecture", info.architecture},
              {"classes", info.classes},
              {"input_size", info.input_size},
              {"mean", info.normalisation.mean},
              {"deviation", info.normalisation.deviation},
              {"feature_width", info.feature_width},
              {"bottleneck_dropout", info.bottleneck_dropout}}
      .dump();
}

ModelInfo model_info_from_json(const std::string& text, const std::string& file) {
  ModelInfo info;
  try {
    const json object = json::parse(text);
    info.name = object.at("name");
    info.architecture = object.at("architecture");
    info.classes = object.at("classes").get<std::vector<std::string>>();
    info.input_size = object.at("input_size");
    info.normalisation.mean = object.at("mean");
    info.normalisation.deviation = object.at("deviation");
    info.feature_width = object.at("feature_width");
    info.bottleneck_dropout = object.at("bottleneck_dropout");
    check(info);
  } catch (const std::exception& error) {
    input_error("{}: its description of the model makes no sense ({}); write it again with: tributary train", file,
                error.what());
  }
  return info;
}

}  // namespace tributary
