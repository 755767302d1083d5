#include "tributary/methods/nrc/bank_filling.h"

#include <algorithm>

#include "tributary/device/accelerator.h"

namespace tributary {

std::pair<Tensor, Tensor> features_and_logits(SourceModel& source, const Tensor& pixels, DropoutStream* dropout_stream,
                                              bool mixed_precision) {
  const MixedPrecision precision(mixed_precision, pixels.device());
  const Tensor phi = source.features(normalise(pixels, source.info().normalisation), dropout_stream);
  return {phi.to(torch::kFloat32), source.classify(phi).to(torch::kFloat32)};
}

void fill_banks(NeighbourBanks& banks, SourceModel& source, uint64_t index, const DeviceImages& images,
                const TrainingSchedule& schedule) {
  torch::NoGradGuard no_grad;
  const Random random(schedule.seed, Purpose::kAugment, {index, /*before step 1*/ 0});
  for (int64_t begin = 0; begin < images.size(); begin += schedule.batch) {
    const Tensor rows = torch::arange(begin, std::min(begin + schedule.batch, images.size()));
    const Tensor pixels = images.augmented(rows, schedule.augmentation, random.child(static_cast<uint64_t>(begin)));
    const NoAlgorithmSearch quick(rows.size(0) != schedule.batch);
    const auto [phi, logits] = features_and_logits(source, pixels, nullptr, is_mixed(schedule.precision));
    banks.write(rows.to(images.device()), phi, logits.softmax(1));
  }
}

}  // namespace tributary
