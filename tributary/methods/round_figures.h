// What observers need of a round's predictions: single columns and means, whole on every rank.
//
// The tensors of a RoundEvent have only the own rows where ranks divide the target set. Observers mostly belong to the
// first rank, which cannot ask the others alone: all ranks compute these figures together, before any observer looks.
#pragma once

#include <vector>

#include "tributary/adapt/collapse.h"
#include "tributary/methods/observer.h"

namespace tributary {

struct RoundFigures {
  int64_t pictures = 0;
  // Columns, on the host.
  Tensor label, confidence;                // int64 [n] and float [n], of the mixture
  Tensor pseudo_label, pseudo_confidence;  // the same of the denoised score; undefined without one
  Tensor source_label;                     // int64 [m, n], of every member out of the classes that it knows
  // Means over the pictures.
  double entropy = 0, marginal_entropy = 0, information_loss = 0;
  LabelFreeScores scores;
  // Of the unadapted sources in round 0, int64 [m, n]: their labels, and those of all but each (adapt/witness.h).
  Tensor witness, others;
  // The features of some pictures, if rows are divided.
  struct Sample {
    Tensor picture;                // int64 [s], ascending
    std::vector<Tensor> features;  // [s, d_j], per source
  } sample;
};

// Those of `event`: RoundEvent::figures if they are there, else from its tensors. Collective then, where rows are
// divided. Parts whose tensors the event lacks stay undefined.
RoundFigures figures_of(const RoundEvent& event);

// `count` of `pictures`, ascending, the same for all rounds: those whose features a report shows.
Tensor sampled_pictures(int64_t pictures, int64_t count);

// The features of these pictures, float32 on the host, on every rank.
std::vector<Tensor> sampled_features(const RoundEvent& event, const Tensor& picture);

}  // namespace tributary
