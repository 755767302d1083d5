// One pass over a whole set, in evaluation mode: features and logits together.
#pragma once

#include <span>
#include <vector>

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
// nothing from more and would need gigabytes.
int64_t evaluation_batch(const DeviceImages& images);

// Outputs in the order of the set, without gradients and with running statistics: the model does not change.
// `mixed_precision` computes in bfloat16 on a GPU; outputs are float32. All sources see a batch before the next is
// read. Ranks that share the sources' passes first make the sources equal and then divide the pictures, or the sources;
// the outputs are equal on all ranks. `waited` receives the seconds spent waiting for pictures.
std::vector<Outputs> evaluate(std::span<SourceModel> sources, const DeviceImages& images, bool mixed_precision = false,
                              double* waited = nullptr);
Outputs evaluate(SourceModel& source, const DeviceImages& images, bool mixed_precision = false);

// The logits of every source, [m, n, K]. Features are not kept.
Tensor evaluate_logits(Ensemble& ensemble, const DeviceImages& images);

// Collects the outputs of several sources batch by batch; the passes above are made of it.
class OutputCollection {
 public:
  OutputCollection(std::span<SourceModel> sources, const DeviceImages& images, bool keep_features = true);

  // The rows among the next `total` pictures that this process passes: all, unless ranks divide them.
  Shard own_rows(int64_t total) const;
  // Passes this process's rows of the next `total` pictures, normalised for every source (see `views`).
  void add(const std::vector<Tensor>& x, int64_t total);
  // The outputs for the whole set, once all batches were added.
  std::vector<Outputs> all() const;

 private:
  std::span<SourceModel> sources_;
  Communicator* comm_;
  bool by_sources_ = false;
  FeatureKind kind_;
  std::vector<FeatureStorage> features_;  // per source; empty if not kept
  std::vector<std::vector<Tensor>> logits_;
};

}  // namespace tributary
