#include "tributary/train/evaluate.h"

#include <algorithm>

namespace tributary {
namespace {

constexpr int64_t kBatch = 256;

}  // namespace

Outputs evaluate(SourceModel& source, const DeviceImages& images) {
  torch::NoGradGuard no_grad;
  std::vector<Tensor> features, logits;
  for (int64_t begin = 0; begin < images.size(); begin += kBatch) {
    const Tensor pixels = images.rows(begin, std::min(begin + kBatch, images.size()));
    features.push_back(source.features(normalise(pixels, source.info().normalisation)));
    logits.push_back(source.classify(features.back()));
  }
  return {at::cat(features), at::cat(logits)};
}

Tensor evaluate_logits(Ensemble& ensemble, const DeviceImages& images) {
  std::vector<Tensor> logits;
  for (SourceModel& source : ensemble.sources) logits.push_back(evaluate(source, images).logits);
  return at::stack(logits);
}

}  // namespace tributary
