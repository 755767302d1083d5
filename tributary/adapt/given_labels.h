// Labels that the user wrote for some target samples.
//
// A given label is right, so nothing may change it: its sample is always selected, the prototypes and the domain
// weights follow it, and it counts for more than a pseudo-label (docs/method.md, Given labels).
#pragma once

#include "tributary/adapt/selection.h"
#include "tributary/base/tensor.h"
#include "tributary/comm/row_block.h"

namespace tributary {

struct GivenLabels {
  Tensor index;     // int64 [g], different rows of the target set, ascending; undefined: none
  Tensor label;     // int64 [g]
  int64_t all = 0;  // how many there are on all ranks, if these are only those of one rank's rows

  bool empty() const { return !index.defined() || index.size(0) == 0; }
  GivenLabels on(torch::Device device) const;
  // Those of this rank's rows, numbered within them.
  GivenLabels of_rows(const RowBlock& rows) const;
  // How many there are on all ranks.
  int64_t count() const { return all > 0 ? all : empty() ? 0 : index.size(0); }
};

// `label`, int64 [n], with the given ones in place of its own.
Tensor with_given_labels(const Tensor& label, const GivenLabels& given);

// `score` [n, K] with the row of every given sample replaced by 1 for its class and 0 elsewhere.
Tensor with_given_scores(const Tensor& score, const GivenLabels& given);

// `selection` with all given samples selected. Those that it lacks come first in `confident`.
Selection with_given_selected(const Selection& selection, const GivenLabels& given);

// Factors of the samples in the cross-entropy, float32 [n]: `factor` for given samples, else `otherwise` [n], or 1 if
// that is undefined.
Tensor given_sample_weights(int64_t samples, const GivenLabels& given, double factor, const Tensor& otherwise = {});

}  // namespace tributary
