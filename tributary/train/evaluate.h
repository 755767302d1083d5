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

// Pictures that a pass in evaluation takes at once: as many small ones as keep a GPU busy, and fewer large ones on a
// CPU, which gains nothing from more and would need gigabytes.
int64_t evaluation_batch(const DeviceImages& images);

// In the order of the set, without gradients, with running statistics: nothing of the model changes.
// `mixed_precision` computes in bfloat16 on a GPU; what comes out is float32. Several sources see each batch one after
// the other, so that pictures are read only once. Where ranks share the sources' passes they agree on the sources first
// and then divide the pictures, or the sources, among them; what comes out is equal on all. `waited` is told how many
// seconds it waited for pictures.
std::vector<Outputs> evaluate(std::span<SourceModel> sources, const DeviceImages& images, bool mixed_precision = false,
                              double* waited = nullptr);
Outputs evaluate(SourceModel& source, const DeviceImages& images, bool mixed_precision = false);

// The logits of every source, [m, n, K]. Features are forgotten at once.
Tensor evaluate_logits(Ensemble& ensemble, const DeviceImages& images);

// What the passes above are made of: outputs of several sources that are put together batch by batch.
class OutputCollection {
 public:
  OutputCollection(std::span<SourceModel> sources, const DeviceImages& images, bool keep_features = true);

  // Of the next `total` pictures of the set those that this process looks at; all, unless ranks divide them.
  Shard own_rows(int64_t total) const;
  // The next pictures, as every source wants them (see `views`): the own rows of `total`.
  void add(const std::vector<Tensor>& x, int64_t total);
  // All of them, when all are there.
  std::vector<Outputs> all() const;

 private:
  std::span<SourceModel> sources_;
  Communicator* comm_;
  bool by_sources_ = false;
  FeatureKind kind_;
  std::vector<FeatureStorage> features_;  // a source each, or none
  std::vector<std::vector<Tensor>> logits_;
};

}  // namespace tributary
