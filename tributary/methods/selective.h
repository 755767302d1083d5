// Selective self-training for multi-source-free adaptation: Algorithm 1, the whole of it.
//
// Round by round: the domain weights say how much to trust each source, prototypes denoise the pseudo-labels of their
// mixture, the confident part of the target set is chosen and trained on, and the rest is aligned with it in the joint
// feature space. The confident part grows until it is everything.
#pragma once

#include "tributary/methods/method.h"
#include "tributary/methods/selective_options.h"

namespace tributary {

class SelectiveSelfTraining : public Method {
 public:
  explicit SelectiveSelfTraining(SelectiveOptions options) : options_(std::move(options)) {}
  using Method::adapt;
  void adapt(Ensemble& ensemble, const ImageSet& target, Observer& observer, Snapshots& snapshots) override;

 private:
  SelectiveOptions options_;
};

// The same with the selective oracle in place of the confidence query: it is told the true labels, and trains on
// exactly the samples whose pseudo-label is right. No method for use, but the ceiling of the selection (Definition 1).
void adapt_with_oracle(Ensemble& ensemble, const ImageSet& target, const Labels& oracle,
                       const SelectiveOptions& options, Observer& observer, Snapshots& snapshots);

// Everything that is computed on the whole target set once a round (spec 00, section 3).
struct TargetState {
  Tensor logits;                 // [m, n, K]
  std::vector<Tensor> features;  // [n, d_j]
  Tensor weights;                // [m], raw
  Tensor posteriors;             // [m, n, K], the prototypes' opinion
  Tensor probabilities;          // [n, K], the mixture h
  Tensor score;                  // [n, K], denoised
  PhaseSeconds seconds;          // it took to compute all this
};

// The state before any training: prototypes from the sources' own labels, weights from the start.
TargetState first_state(Ensemble& ensemble, const DeviceImages& images, const SelectiveOptions& options);
// The state after a round that trained on `trained`, weights going on from `weights`.
TargetState next_state(Ensemble& ensemble, const DeviceImages& images, const Selection& trained, const Tensor& weights,
                       const SelectiveOptions& options);

// The selection of `round` (1..rounds), never fewer than two samples.
Selection select_for_round(const TargetState& state, int64_t initial, int64_t round, const SelectiveOptions& options);

}  // namespace tributary
