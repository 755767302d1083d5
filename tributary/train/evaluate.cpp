#include "tributary/train/evaluate.h"

#include <algorithm>
#include <functional>

#include "tributary/base/interrupt.h"
#include "tributary/model/accelerator.h"
#include "tributary/scale/pace.h"

namespace tributary {

int64_t evaluation_batch(const DeviceImages& images) {
  const int64_t pixels = images.crop() * images.crop();
  if (images.device().is_cpu()) return std::clamp<int64_t>((1 << 20) / pixels, 8, 256);
  return std::clamp<int64_t>((1 << 22) / pixels, 256, 4096);
}

namespace {

// What this process makes of `rows` of the set with the sources that are not another's; `check` is called before every
// batch.
std::vector<Outputs> evaluate_alone(std::span<SourceModel> sources, const DeviceImages& images, const Share& rows,
                                    bool mixed_precision, const std::function<void()>& check) {
  const MixedPrecision precision(mixed_precision, images.device());
  std::vector<std::vector<Tensor>> features(sources.size()), logits(sources.size());
  const int64_t batch = evaluation_batch(images);
  for (Sweep sweep(images, batch, rows); !sweep.done();) {
    check();
    const std::vector<Tensor> x = views(sweep.next(), sources);
    const NoAlgorithmSearch quick(x.front().size(0) != batch);
    for (size_t j = 0; j < sources.size(); ++j) {
      if (sources[j].sharing().elsewhere()) continue;
      features[j].push_back(sources[j].features_alone(x[j]).to(torch::kFloat32));
      logits[j].push_back(sources[j].classify(features[j].back()).to(torch::kFloat32));
    }
  }
  std::vector<Outputs> outputs(sources.size());
  for (size_t j = 0; j < sources.size(); ++j)
    if (!features[j].empty()) outputs[j] = {at::cat(features[j]), at::cat(logits[j])};
  return outputs;
}

std::vector<Outputs> evaluate_by_rows(Ranks& ranks, std::span<SourceModel> sources, const DeviceImages& images,
                                      bool mixed_precision) {
  const int64_t total = images.size(), batch = evaluation_batch(images);
  if (total < ranks.size()) return evaluate_alone(sources, images, {0, total}, mixed_precision, [] {});
  Pace pace(ranks);
  // All ask as often as the rank with the most batches.
  int64_t left = ((total + ranks.size() - 1) / ranks.size() + batch - 1) / batch;
  std::vector<Outputs> outputs = evaluate_alone(sources, images, share_of(total, ranks), mixed_precision, [&] {
    pace.check_interrupt();
    --left;
  });
  for (; left > 0; --left) pace.check_interrupt();
  for (Outputs& own : outputs) {
    own.features = gather_rows(ranks, own.features, total);
    own.logits = gather_rows(ranks, own.logits, total);
  }
  return outputs;
}

std::vector<Outputs> evaluate_by_sources(Ranks& ranks, std::span<SourceModel> sources, const DeviceImages& images,
                                         bool mixed_precision) {
  const int64_t total = images.size(), batch = evaluation_batch(images);
  const bool idle = std::all_of(sources.begin(), sources.end(),
                                [](const SourceModel& source) { return source.sharing().elsewhere(); });
  Pace pace(ranks);
  std::vector<Outputs> outputs(sources.size());
  if (idle)
    for (int64_t left = (total + batch - 1) / batch; left > 0; --left) pace.check_interrupt();
  else
    outputs = evaluate_alone(sources, images, {0, total}, mixed_precision, [&] { pace.check_interrupt(); });
  const auto options = at::device(images.device()).dtype(torch::kFloat32);
  for (size_t j = 0; j < sources.size(); ++j) {
    const Sharing& sharing = sources[j].sharing();
    if (sharing.by != Sharing::By::kSources) continue;
    if (sharing.elsewhere())
      outputs[j] = {torch::empty({total, sources[j].info().feature_width}, options),
                    torch::empty({total, static_cast<int64_t>(sources[j].info().classes.size())}, options)};
    ranks.broadcast(outputs[j].features, sharing.owner);
    ranks.broadcast(outputs[j].logits, sharing.owner);
  }
  return outputs;
}

}  // namespace

std::vector<Outputs> evaluate(std::span<SourceModel> sources, const DeviceImages& images, bool mixed_precision) {
  torch::NoGradGuard no_grad;
  Ranks* const ranks = sources.front().sharing().ranks;
  if (!ranks) return evaluate_alone(sources, images, {0, images.size()}, mixed_precision, check_interrupt);
  bool by_sources = false;
  for (const SourceModel& source : sources) {
    agree(*ranks, source.state());
    by_sources = by_sources || source.sharing().by == Sharing::By::kSources;
  }
  return by_sources ? evaluate_by_sources(*ranks, sources, images, mixed_precision)
                    : evaluate_by_rows(*ranks, sources, images, mixed_precision);
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
