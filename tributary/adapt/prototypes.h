// Class prototypes and their posterior (Eq. 7 and 8), which denoises the pseudo-labels.
//
// Every source has one prototype per class, the mean of its features over the samples with that label. The posterior of
// a sample follows from its distance to them. A label on which mixture and prototypes agree is likely right. Features
// that are not float32 on the device are processed in blocks of rows (adapt/feature_rows.h). Ranks may keep their own
// rows; prototypes follow from the sums over all.
#pragma once

#include "tributary/adapt/given_labels.h"
#include "tributary/base/tensor.h"

namespace tributary {

enum class PrototypeKernel { kSquared, kNorm };  // Q1: exp(-|d|^2 / 2t), or exp(-|d| / t)
enum class EmptyClass { kWeighted, kZero };      // Q4: mean over all data weighted by h_j, or the zero vector

struct PrototypeOptions {
  PrototypeKernel kernel = PrototypeKernel::kSquared;
  double temperature = 0;  // 0: the kernel's own, 10 for squared and 1 for norm
  int64_t passes = 2;      // Q2: all but the last pass relabel the labelled samples by the prototypes
  EmptyClass empty = EmptyClass::kWeighted;
};

// eta_k, float [K, d]: the mean of `features` [n, d] over {label = k}; label -1 means none. `probabilities` [n, K] are
// this source's own and serve the classes without a sample.
Tensor class_prototypes(const Tensor& features, const Tensor& label, const Tensor& probabilities, EmptyClass empty,
                        const RowBlock& rows = {});

// q [n, K]: softmax over classes of the negative distance to the prototypes, 0 for classes that are not `known`, bool
// [K]; undefined: all are.
Tensor prototype_posterior(const Tensor& features, const Tensor& prototypes, const PrototypeOptions& options,
                           const Tensor& known = {});

// The posterior of prototypes from `label`, refined in `passes` passes. `label` does not change, and given labels are
// not refined.
Tensor refined_posterior(const Tensor& features, const Tensor& label, const Tensor& probabilities,
                         const PrototypeOptions& options, const Tensor& known = {}, const GivenLabels& given = {},
                         const RowBlock& rows = {});

// Posteriors of m sources [m, n, K] that are 0 for unknown classes, completed like logits (model/class_sets.h): their
// logarithms are the logits of the prototypes.
Tensor complete_posteriors(const Tensor& posteriors, const Tensor& known);

}  // namespace tributary
