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

OutputCollection::OutputCollection(std::span<SourceModel> sources, const DeviceImages& images, bool keep_features)
    : sources_(sources), logits_(sources.size()) {
  int64_t joint_width = 0;
  for (const SourceModel& source : sources) joint_width += source.info().feature_width;
  kind_ = feature_kind(images.size(), joint_width, images.feature_bytes());
  if (!keep_features) return;
  for (const SourceModel& source : sources)
    features_.emplace_back(kind_, images.size(), source.info().feature_width, images.device());
}

void OutputCollection::add(const std::vector<Tensor>& x) {
  for (size_t j = 0; j < sources_.size(); ++j) {
    const Tensor features = sources_[j].features(x[j]).to(torch::kFloat32);
    logits_[j].push_back(sources_[j].classify(features).to(torch::kFloat32));
    if (!features_.empty()) features_[j].append(features);
  }
}

std::vector<Outputs> OutputCollection::all() const {
  std::vector<Outputs> outputs;
  for (size_t j = 0; j < sources_.size(); ++j)
    outputs.push_back({features_.empty() ? Tensor() : features_[j].all(), at::cat(logits_[j]),
                       /*in_blocks=*/kind_ != FeatureKind::kFloat});
  return outputs;
}

namespace {

std::vector<Outputs> pass_over(std::span<SourceModel> sources, const DeviceImages& images, bool mixed_precision,
                               bool keep_features) {
  torch::NoGradGuard no_grad;
  const MixedPrecision precision(mixed_precision, images.device());
  OutputCollection outputs(sources, images, keep_features);
  const int64_t batch = evaluation_batch(images);
  for (Sweep sweep(images, batch); !sweep.done();) {
    check_interrupt();
    const std::vector<Tensor> x = views(sweep.next(), sources);
    const NoAlgorithmSearch quick(x.front().size(0) != batch);
    outputs.add(x);
  }
  return outputs.all();
}

}  // namespace

std::vector<Outputs> evaluate(std::span<SourceModel> sources, const DeviceImages& images, bool mixed_precision) {
  return pass_over(sources, images, mixed_precision, /*keep_features=*/true);
}

Outputs evaluate(SourceModel& source, const DeviceImages& images, bool mixed_precision) {
  return evaluate({&source, 1}, images, mixed_precision).front();
}

Tensor evaluate_logits(Ensemble& ensemble, const DeviceImages& images) {
  std::vector<Tensor> logits;
  for (const Outputs& outputs : pass_over(ensemble.sources, images, /*mixed_precision=*/false, /*keep_features=*/false))
    logits.push_back(outputs.logits);
  return at::stack(logits);
}

}  // namespace tributary
