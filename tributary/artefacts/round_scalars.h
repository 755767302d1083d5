// The facts of a round as points of curves.
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

// `metrics` is an object of metrics.jsonl, `sources` the names of the models. Tags begin with the group in which
// TensorBoard shows them: weights, selection, mixture, losses, seconds, speed; what belongs to none of the others is a
// loss. Lists have a tag a source ("losses/cross_entropy/webcam"), sources of the same name are numbered. The number of
// pictures and of rounds, which never change, are left out.
std::vector<Scalar> round_scalars(const nlohmann::json& metrics, const std::vector<std::string>& sources);

}  // namespace tributary
