// Plain gradient descent on the domain weights, on a CPU, as one loop over numbers.
//
// Thousands of steps (docs/method.md, Domain weights) update m numbers, each by a pass over all n x K mixed
// predictions. With tensors a pass takes twenty small operations. Here it takes two sweeps over memory that stays in
// the cache and skips the value of the loss. Supports the default variant only: a mixture of logits, |w| free in scale.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace tributary {

// Samples whose labels are given.
struct GivenSamples {
  std::vector<float> logits = {};   // [g, m, K]
  std::vector<int64_t> label = {};  // [g]
  int64_t all = 0;                  // g of all ranks
};

struct WeightDescent {
  int64_t steps = 0;
  double rate = 0;
  double entropy_epsilon = 0, marginal_epsilon = 0;  // both positive
  std::vector<double> log_prior = {};                // per class; empty for the uniform prior
  std::vector<float> sample_weight = {};             // per sample, with mean 1; empty: 1 each
  GivenSamples given = {};                           // whose mean cross-entropy is added to the loss
  // If ranks keep their own samples: how many all have, and how numbers are summed over the ranks, in place.
  int64_t all_samples = 0;
  std::function<void(std::span<double>)> sum_over_ranks = {};
};

// Minimises IM(softmax_k(sum_j |w_j| z_jk)), relative to the class prior, in w (Eq. 6 in logits). `logits` are [m, K,
// n]: a source behind the other, in it a class behind the other.
void descend(const float* logits, int64_t classes, int64_t samples, std::vector<float>& weights,
             const WeightDescent& options);

}  // namespace tributary
