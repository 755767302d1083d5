// The state of the whole target set in selective self-training, computed once per round: weights, prototypes, scores
// (Eq. 6 to 9).
#pragma once

#include "tributary/methods/observer.h"
#include "tributary/methods/selective/selective_options.h"
#include "tributary/model/ensemble.h"
#include "tributary/train/device_images.h"

namespace tributary {

struct TargetState {
  Tensor logits;                 // [m, n, K]
  std::vector<Tensor> features;  // [n, d_j], see adapt/feature_rows.h
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
