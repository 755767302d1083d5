// How much to trust each source: the domain weights (Eq. 6).
//
// The mixture of all sources should be certain and diverse on the target set, so the weights w minimise the information
// loss of the mixture over the whole set. The label-mismatch term of the bound is what a badly weighted mixture pays.
// Sources are mixed in the space of logits by default: in the space of probabilities the loss is concave along the
// simplex, and its minimum is a corner, one source alone (docs/method.md, Domain weights).
#pragma once

#include "tributary/adapt/given_labels.h"
#include "tributary/base/random.h"
#include "tributary/base/tensor.h"
#include "tributary/comm/row_block.h"
#include "tributary/model/mixture.h"

namespace tributary {

enum class MixtureSpace { kLogits, kProbabilities };       // W1
enum class WeightScale { kFree, kFixed };                  // W2: |w| as it is, or rescaled to sum m
enum class WeightStart { kUniform, kNormal, kAgreement };  // W3: 1/m, a standard normal draw, or by agreement

struct AggregationOptions {
  MixtureSpace space = MixtureSpace::kLogits;
  WeightScale scale = WeightScale::kFree;
  WeightStart start = WeightStart::kUniform;
  bool restart = false;  // start from the initial weights in every round, not from the last ones
  int64_t steps = 2000;  // W4: full-batch plain SGD
  double rate = 0.1;
  double marginal_epsilon = 1e-5;  // W5
  bool learn = true;               // ablation (a): 1/m throughout
};

// The weights before the first optimisation, float32 [m], uniform or drawn.
Tensor initial_weights(int64_t sources, WeightStart start, Random random);

// The same from the agreement of the sources' labels int64 [m, n] (`weights_from_agreement`), scaled to sum 1. None is
// below 0.1 / m, since a weight of 0 has no gradient. Uniform if no source agrees with another one beyond chance.
Tensor agreement_start(const Tensor& labels, int64_t classes, const RowBlock& rows = {});

// |w_j| / (sum |w| + 1e-5): the weights where they must sum to one.
Tensor normalised_weights(const Tensor& weights);

// The mixture h of these weights: of logits with |w|, rescaled to sum m if `scale` is fixed; or of probabilities with
// normalised weights.
Mixture weighted_mixture(const Tensor& weights, MixtureSpace space, WeightScale scale = WeightScale::kFree);

// Minimises IM(mixture) in w over all n rows by plain gradient descent from `weights`; returns the new weights. With a
// class prior [K], the mixture's marginal should follow the prior instead of the uniform distribution
// (`information_loss_with_prior`). With sample weights, float32 [n] of mean 1, means over rows are weighted. With given
// labels, the mean cross-entropy of the mixture on their rows is added to the loss. Ranks may keep the logits, sample
// weights and given labels (GivenLabels::of_rows) of their own rows: a step then exchanges m + K numbers.
Tensor optimise_weights(const Tensor& logits, const Tensor& weights, const AggregationOptions& options,
                        const Tensor& prior = {}, const Tensor& sample_weights = {}, const GivenLabels& given = {},
                        const RowBlock& rows = {});

// The loss that is minimised, and its gradient in w in closed form.
struct WeightLoss {
  Tensor value;     // scalar
  Tensor gradient;  // [m]
};
WeightLoss weight_loss(const Tensor& logits, const Tensor& weights, const AggregationOptions& options,
                       const Tensor& prior = {}, const Tensor& sample_weights = {}, const GivenLabels& given = {},
                       const RowBlock& rows = {});

}  // namespace tributary
