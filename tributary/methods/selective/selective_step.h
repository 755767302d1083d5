// One training step of selective self-training (Eq. 14): every source passes the mixed, the confident and the
// unconfident batch; one update minimises cross-entropy, information loss and adversarial loss together.
#pragma once

#include <map>
#include <vector>

#include "tributary/adapt/mixup.h"
#include "tributary/device/accelerator.h"
#include "tributary/methods/selective/selective_options.h"
#include "tributary/model/ensemble.h"
#include "tributary/train/sgd.h"

namespace tributary {

// The inputs of a step. Pictures are normalised for every source (see `views`).
struct StepBatch {
  std::vector<Tensor> confident;    // x_l, [b, 3, s, s] per source
  Tensor label;                     // y~, int64 [b]
  Tensor source_label{};            // int64 [m, b], the labels of each source; undefined: `label` for all
  Tensor weight{};                  // of each sample's cross-entropy, float [b]; undefined: 1
  std::vector<Tensor> unconfident;  // x_u; empty if too few are left to align with
  Mixing mixing;                    // unused without mixup
  Tensor known{};                   // float [b], 1 for samples whose class the source knows; undefined: all are
};

// The losses of a step in the order of `MeanLosses`: cross-entropy and information of each source, adversarial and
// discriminator. On the device, float [2 m + 2].
using StepLosses = Tensor;

// The forward passes of a source within a step, in order.
enum class StepPass : uint64_t { kMixed = 0, kConfident = 1, kUnconfident = 2 };
inline constexpr StepPass kStepPasses[] = {StepPass::kMixed, StepPass::kConfident, StepPass::kUnconfident};

// The dropout streams of all forward passes of a step, source by source.
using StepDropout = std::vector<DropoutStream>;

// The random stream of a pass in a step with the stream `stream`.
inline Random pass_stream(const Random& stream, int64_t source, StepPass pass) {
  return stream.child(static_cast<uint64_t>(source)).child(static_cast<uint64_t>(pass));
}

class SelectiveStep {
 public:
  // Trains the backbones and bottlenecks of `ensemble`, which must outlive it. Classifiers are frozen.
  SelectiveStep(Ensemble& ensemble, const SelectiveOptions& options);

  // `rate_factor` multiplies the learning rates of the sources; `stream` is the step's random stream.
  StepLosses run(const StepBatch& batch, double rate_factor, const Random& stream);

  // The two halves of `run`: gradients, then the update.
  StepLosses accumulate(const StepBatch& batch, StepDropout& dropout_stream);
  StepLosses accumulate(const StepBatch& batch, const Random& stream);
  void update(double rate_factor) { optimiser_.step(rate_factor); }
  void update(const Tensor& rate_factor) { optimiser_.step(rate_factor); }

  // Sets the class prior [K] that diversity is measured against; without it, it is uniform. Captured steps read later
  // values, but must not be captured before the first one.
  void set_prior(const Tensor& prior) {
    prior_.copy_(prior);
    has_prior_ = true;
  }

  const Adversary& adversary() const { return adversary_; }
  // The state of the adversary and of the optimiser.
  NamedTensors state() const;

 private:
  struct Source;
  using Flat = std::map<StepPass, Tensor>;  // the backbone's features, per pass
  // The classes that a source knows; undefined tensors if it knows all.
  struct OwnClasses {
    Tensor classes;   // int64 [K_j]
    Tensor number;    // int64 [K], the number of a class among them; 0 if it is unknown
    Tensor is_known;  // float [K], 1 or 0
  };
  static OwnClasses own_classes(const SourceModel& source);
  // The labels of a batch in the numbers of source j. Samples of classes that it does not know have weight 0.
  StepBatch own_batch(const StepBatch& batch, int64_t j) const;
  // The weight of every row in the information loss; undefined: 1. Unconfident samples have no label and count.
  Tensor informed_weight(const StepBatch& mine, const std::vector<Tensor>& informed) const;
  Tensor information_of(const Tensor& predicted, const Tensor& weight, const OwnClasses& own) const;
  DropoutStream& stream_of(StepDropout& dropout_stream, int64_t j, StepPass pass) const;
  // Backbone features of all passes of every source that ranks divide by source; empty for the others.
  std::vector<Flat> divided_features(const StepBatch& batch, const std::vector<Tensor>& mixed,
                                     StepDropout& dropout_stream);
  // Backbone features of all passes of source j, if they are computed in one pass over `joined_passes`; else empty.
  Flat features_at_once(int64_t j, const StepBatch& batch, const Tensor& mixed, const Tensor& joined_passes,
                        StepDropout& dropout_stream);
  Source forward(int64_t j, const StepBatch& batch, const Tensor& mixed, const Flat& flat, StepDropout& dropout_stream);

  Ensemble& ensemble_;
  SelectiveOptions options_;
  Tensor prior_;  // float [K], in the same memory throughout, because captured steps read it
  bool has_prior_ = false;
  Sgd optimiser_;
  Adversary adversary_;
  Branches branches_;
  std::vector<OwnClasses> own_classes_;
};

}  // namespace tributary
