#include "tributary/io/calibration.h"

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <stdexcept>

namespace tributary {
namespace {

using nlohmann::json;

// JSON has no infinity.
json threshold_json(double threshold) {
  return std::isfinite(threshold) ? json(threshold) : json();
}

double threshold_from(const json& value) {
  return value.is_null() ? std::numeric_limits<double>::infinity() : value.get<double>();
}

double in_range(const json& value, double least, double most, const char* name) {
  const auto number = value.get<double>();
  if (!(number >= least && number <= most))
    throw std::runtime_error(std::string("a calibration with ") + name + " out of range");
  return number;
}

}  // namespace

json to_json(const Calibration& calibration) {
  return {{"count", calibration.count},
          {"accuracy", calibration.accuracy},
          {"temperature", calibration.temperature},
          {"atc_confidence", threshold_json(calibration.threshold_confidence)},
          {"atc_entropy", threshold_json(calibration.threshold_entropy)},
          {"ece", calibration.ece},
          {"ece_scaled", calibration.ece_scaled},
          {"class_share", calibration.class_share},
          {"split", calibration.split}};
}

Calibration calibration_from_json(const json& object, size_t classes) {
  Calibration calibration;
  calibration.count = static_cast<int64_t>(in_range(object.at("count"), 1, 1e15, "a count"));
  calibration.accuracy = in_range(object.at("accuracy"), 0, 1, "an accuracy");
  calibration.temperature = in_range(object.at("temperature"), 1e-3, 1e3, "a temperature");
  calibration.threshold_confidence = threshold_from(object.at("atc_confidence"));
  calibration.threshold_entropy = threshold_from(object.at("atc_entropy"));
  calibration.ece = in_range(object.at("ece"), 0, 1, "an error");
  calibration.ece_scaled = in_range(object.at("ece_scaled"), 0, 1, "an error");
  for (const json& share : object.at("class_share"))
    calibration.class_share.push_back(in_range(share, 0, 1, "a class share"));
  if (calibration.class_share.size() != classes) throw std::runtime_error("a calibration of other classes");
  calibration.split = object.at("split").get<std::string>();
  return calibration;
}

}  // namespace tributary
