// One pass over a whole set, in evaluation mode: features and logits together.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "tributary/comm/row_block.h"
#include "tributary/model/ensemble.h"
#include "tributary/train/device_images.h"
#include "tributary/train/feature_storage.h"

namespace tributary {

struct Outputs {
  Tensor features;         // [n, d], float32 on the device where they fit, else as train/feature_storage.h keeps them
  Tensor logits;           // [n, K]
  bool in_blocks = false;  // whether a float32 copy of the features would take too much memory
};

// The batch size of evaluation: enough small pictures to keep a GPU busy, and fewer large ones on a CPU, which gains
// nothing from more and would need gigabytes. On a small GPU it takes an eighth of the memory.
int64_t evaluation_batch(const DeviceImages& images);

// Outputs in the order of the set, without gradients and with running statistics: the model does not change.
// `mixed_precision` computes in bfloat16 on a GPU; outputs are float32. All sources see a batch before the next is
// read. Ranks that share the sources' passes first make the sources equal and then divide the pictures, or the sources;
// the outputs are equal on all ranks. Throws an InputError that names the source if its logits are non-finite. `waited`
// receives the seconds spent waiting for pictures. With divided rows every rank passes its own pictures through all
// sources and keeps their outputs alone.
std::vector<Outputs> evaluate(std::span<SourceModel> sources, const DeviceImages& images, bool mixed_precision = false,
                              double* waited = nullptr, const RowBlock& rows = {});
Outputs evaluate(SourceModel& source, const DeviceImages& images, bool mixed_precision = false);

// The logits of every source, [m, n, K], completed where it does not know a class. Features are not kept.
Tensor evaluate_logits(Ensemble& ensemble, const DeviceImages& images, const RowBlock& rows = {});

// The outputs for augmented pictures, in evaluation mode. `random_of(begin)` is the stream of the batch that begins
// with row `begin`.
std::vector<Outputs> evaluate_augmented(std::span<SourceModel> sources, const DeviceImages& images,
                                        const Augmentation& augmentation,
                                        const std::function<Random(int64_t begin)>& random_of, bool mixed_precision);

}  // namespace tributary
