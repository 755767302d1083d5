#include "tributary/train/evaluate.h"

#include <algorithm>

#include "tributary/base/interrupt.h"
#include "tributary/model/accelerator.h"

namespace tributary {

int64_t evaluation_batch(const DeviceImages& images) {
  const int64_t pixels = images.crop() * images.crop();
  if (images.device().is_cpu()) return std::clamp<int64_t>((1 << 20) / pixels, 8, 256);
  return std::clamp<int64_t>((1 << 22) / pixels, 256, 4096);
}

std::vector<Outputs> evaluate(std::span<SourceModel> sources, const DeviceImages& images, bool mixed_precision) {
  torch::NoGradGuard no_grad;
  const MixedPrecision precision(mixed_precision, images.device());
  std::vector<std::vector<Tensor>> features(sources.size()), logits(sources.size());
  const int64_t batch = evaluation_batch(images);
  for (Sweep sweep(images, batch); !sweep.done();) {
    check_interrupt();
    const std::vector<Tensor> x = views(sweep.next(), sources);
    const NoAlgorithmSearch quick(x.front().size(0) != batch);
    for (size_t j = 0; j < sources.size(); ++j) {
      features[j].push_back(sources[j].features(x[j]).to(torch::kFloat32));
      logits[j].push_back(sources[j].classify(features[j].back()).to(torch::kFloat32));
    }
  }
  std::vector<Outputs> outputs;
  for (size_t j = 0; j < sources.size(); ++j) outputs.push_back({at::cat(features[j]), at::cat(logits[j])});
  return outputs;
}

Outputs evaluate(SourceModel& source, const DeviceImages& images, bool mixed_precision) {
  return evaluate({&source, 1}, images, mixed_precision).front();
}

Tensor evaluate_logits(Ensemble& ensemble, const DeviceImages& images) {
  std::vector<Tensor> logits;
  for (const Outputs& outputs : evaluate(ensemble.sources, images)) logits.push_back(outputs.logits);
  return at::stack(logits);
}

}  // namespace tributary
