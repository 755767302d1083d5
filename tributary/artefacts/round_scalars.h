// Converts the metrics of a round to TensorBoard scalars.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace tributary {

struct Scalar {
  std::string tag;
  double value = 0;
  bool operator==(const Scalar&) const = default;
};

// `metrics` is an object of metrics.jsonl, `sources` are the names of the models. Tags start with the group in
// TensorBoard: weights, selection, mixture, losses, seconds, speed; unknown keys are losses. Lists have one tag per
// source ("losses/cross_entropy/webcam"), or per source but the last ones, which are not trained; sources with equal
// names are numbered. The constant numbers of pictures and
// rounds are omitted.
std::vector<Scalar> round_scalars(const nlohmann::json& metrics, const std::vector<std::string>& sources);

}  // namespace tributary
