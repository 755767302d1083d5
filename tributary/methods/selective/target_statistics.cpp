#include "tributary/methods/selective/target_statistics.h"

#include <algorithm>

#include "tributary/base/interrupt.h"
#include "tributary/device/accelerator.h"
#include "tributary/model/layered_source.h"
#include "tributary/train/sampler.h"

namespace tributary {
namespace {

constexpr int64_t kBatch = 64;
constexpr int64_t kLeastUpdates = 30;  // leave 4 % of the source's statistics

void pass(SourceModel& source, const Tensor& x, bool by_sources) {
  DropoutStream quiet = DropoutStream::quiet(x.device());
  // If ranks divide the sources, each updates all of them, which costs less than to distribute the statistics.
  if (by_sources)
    source.layered()->bottleneck_features(source.layered()->backbone_features(x, &quiet), &quiet);
  else
    source.features(x, &quiet);
}

}  // namespace

void adapt_batch_norm(Ensemble& ensemble, const DeviceImages& images, int64_t passes, uint64_t seed,
                      bool mixed_precision, bool leave_student_out) {
  const size_t count = ensemble.sources.size() - (leave_student_out && ensemble.has_student ? 1 : 0);
  torch::NoGradGuard no_grad;
  const int64_t batch = std::min(kBatch, images.size());
  Sampler sampler(torch::arange(images.size()), batch, Random(seed, Purpose::kShuffle, {0, 0}),
                  std::max<int64_t>(2, batch / 4));
  const int64_t updates = std::max(kLeastUpdates, passes * std::max<int64_t>(1, images.size() / batch));
  const MixedPrecision precision(mixed_precision, images.device());
  for (int64_t i = 0; i < updates; ++i) {
    check_interrupt();
    const std::vector<Tensor> x = views(images.gather(sampler.next()), ensemble.sources);
    for (size_t j = 0; j < count; ++j)
      if (ensemble.sources[j].layered()) pass(ensemble.sources[j], x[j], ensemble.by_sources());
  }
}

NamedTensors running_statistics(const Ensemble& ensemble) {
  NamedTensors statistics;
  for (const NamedTensor& tensor : ensemble.state())
    if (tensor.name.find(".running_") != std::string::npos || tensor.name.ends_with(".num_batches_tracked"))
      statistics.push_back(tensor);
  return statistics;
}

}  // namespace tributary
