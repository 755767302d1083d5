#include "tributary/train/evaluate.h"

#include <algorithm>

#include "tributary/model/accelerator.h"

namespace tributary {
namespace {

// Pictures at once: what a cache and a GPU like for digits, and fewer of large ones on a CPU, which gains nothing from
// more and would need gigabytes.
int64_t batch_for(const DeviceImages& images) {
  constexpr int64_t kMost = 256, kPixels = 1 << 20;
  if (!images.device().is_cpu()) return kMost;
  return std::clamp<int64_t>(kPixels / (images.crop() * images.crop()), 8, kMost);
}

}  // namespace

Outputs evaluate(SourceModel& source, const DeviceImages& images, bool mixed_precision) {
  torch::NoGradGuard no_grad;
  const MixedPrecision precision(mixed_precision, images.device());
  std::vector<Tensor> features, logits;
  const int64_t batch = batch_for(images);
  for (int64_t begin = 0; begin < images.size(); begin += batch) {
    const Tensor pixels = images.rows(begin, std::min(begin + batch, images.size()));
    features.push_back(source.features(normalise(pixels, source.info().normalisation)).to(torch::kFloat32));
    logits.push_back(source.classify(features.back()).to(torch::kFloat32));
  }
  return {at::cat(features), at::cat(logits)};
}

Tensor evaluate_logits(Ensemble& ensemble, const DeviceImages& images) {
  std::vector<Tensor> logits;
  for (SourceModel& source : ensemble.sources) logits.push_back(evaluate(source, images).logits);
  return at::stack(logits);
}

}  // namespace tributary
