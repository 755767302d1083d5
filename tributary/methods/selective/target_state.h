// The state of the whole target set in selective self-training, computed once per round: weights, prototypes, scores
// (Eq. 6 to 9). Of everything with a row per picture each rank keeps its own rows.
#pragma once

#include "tributary/adapt/given_labels.h"
#include "tributary/comm/row_block.h"
#include "tributary/methods/observer.h"
#include "tributary/methods/selective/selective_options.h"
#include "tributary/model/ensemble.h"
#include "tributary/train/device_images.h"

namespace tributary {

struct TargetState {
  RowBlock rows;                 // which of the n rows the tensors below have
  Tensor logits;                 // [m, n, K], of all members of the ensemble, completed (model/class_sets.h)
  Tensor own_logits;             // the same of the sources alone, completed without the others
  Tensor known;                  // bool [m, K]: which source knows which class; undefined if all know all
  std::vector<Tensor> features;  // [n, d_j] of the sources, see adapt/feature_rows.h
  Tensor weights;                // [m], raw
  Mixture mixture;               // of these weights; gives h
  Tensor posteriors;             // [sources, n, K], of the prototypes; undefined without features
  Tensor probabilities;          // [n, K], the mixture h
  Tensor score;                  // [n, K], denoised
  Tensor source_label;           // int64 [m, n], with `cross_labels`: the pseudo-labels of each source
  double largest_share = 0;      // of a class by the unadapted sources' labels; 0 without `class_cap`
  bool dominated = false;        // by a class of that share (adapt/class_balance.h)
  double trust = 0;              // in the labels of the unadapted sources (adapt/agreement.h)
  PhaseSeconds seconds;          // spent on computing all this
};

// The state before training, of all members but the student: prototypes from the sources' own labels, weights from
// their initial values. Given labels are those of all rows, on the device of the sources, here and below.
TargetState first_state(Ensemble& ensemble, const DeviceImages& images, const SelectiveOptions& options,
                        const GivenLabels& given = {});

// What the unadapted members say about the target set, for the state of a student that they have taught.
struct TargetFacts {
  double largest_share = 0, trust = 0;  // as in `TargetState`
  bool dominated = false;
};
// The state with a student that has been taught.
TargetState taught_state(Ensemble& ensemble, const DeviceImages& images, const TargetFacts& facts,
                         const SelectiveOptions& options, const GivenLabels& given = {});
// Whether the target set is not trained on, because one class dominates it (`SelectiveOptions::leave_dominated`).
bool leaves_untrained(const TargetState& state, const SelectiveOptions& options);

// What a round hands to the next one.
struct RoundMemory {
  Tensor weights;     // [m], where the optimisation of the weights starts
  Tensor score;       // [n, K], own rows, of the round before; undefined unless `score_memory` needs it
  Tensor prior;       // [K], the class prior of the round; undefined if it is uniform
  Tensor prediction;  // int64 [n], own rows, the pseudo-labels of all samples; undefined unless `class_cap` needs them
  double trust = 0;   // as in `TargetState`
};
RoundMemory memory_of(const TargetState& state, const Ensemble& ensemble, const SelectiveOptions& options);

// The state after a round that trained on `trained`.
TargetState next_state(Ensemble& ensemble, const DeviceImages& images, const Selection& trained,
                       const RoundMemory& memory, const SelectiveOptions& options, const GivenLabels& given = {});

// The selection of `round` (1..rounds), of at least two samples: whole on every rank.
Selection select_for_round(const TargetState& state, int64_t initial, int64_t round, const SelectiveOptions& options,
                           const GivenLabels& given = {});

}  // namespace tributary
