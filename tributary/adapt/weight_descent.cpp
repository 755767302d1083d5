// Compiled with relaxed floating-point rules, so that loops become vector instructions with a vector exp and log.
#include "tributary/adapt/weight_descent.h"

#include <algorithm>
#include <cmath>

#include "tributary/base/clones.h"

namespace tributary {
namespace {

constexpr int64_t kBlock = 256;  // samples at a time: their K numbers stay in the first cache

struct Block {
  const float* logits;  // of the first source and class, at the block's first sample
  int64_t stride;       // from one class to the next
  int64_t sources, classes, count;
  const float* weight;  // of the samples, or null
  float* p;             // [K, kBlock], kept from the first sweep for the second
};

// p = softmax of the mixed logits; adds its sums to `marginal`, and to `gradient` what the mean of entropies
// contributes: sum_ik z_jik p_ik (s_ik - sum_l s_il p_il) with s = d entropy / d p.
template <bool kWeighted>
[[gnu::always_inline]] inline void first_sweep_of(const Block& block, const float* size, float epsilon, float* slope,
                                                  double* marginal, double* gradient) {
  float top[kBlock], total[kBlock], mean[kBlock];
  // A local copy, so that the alignment of the caller's memory cannot change the order of vectorised sums.
  float weight[kWeighted ? kBlock : 1];
  if constexpr (kWeighted) std::copy_n(block.weight, block.count, weight);
  for (int64_t i = 0; i < block.count; ++i) top[i] = -1e30f, total[i] = 0, mean[i] = 0;
  for (int64_t k = 0; k < block.classes; ++k) {
    float* p = block.p + k * kBlock;
    for (int64_t i = 0; i < block.count; ++i) p[i] = 0;
    for (int64_t j = 0; j < block.sources; ++j) {
      const float* z = block.logits + (j * block.classes + k) * block.stride;
      for (int64_t i = 0; i < block.count; ++i) p[i] += size[j] * z[i];
    }
    for (int64_t i = 0; i < block.count; ++i) top[i] = std::max(top[i], p[i]);
  }
  for (int64_t k = 0; k < block.classes; ++k) {
    float* p = block.p + k * kBlock;
    for (int64_t i = 0; i < block.count; ++i) {
      p[i] = std::exp(p[i] - top[i]);
      total[i] += p[i];
    }
  }
  for (int64_t i = 0; i < block.count; ++i) total[i] = 1 / total[i];
  for (int64_t k = 0; k < block.classes; ++k) {
    float *p = block.p + k * kBlock, *s = slope + k * kBlock;
    float sum = 0;
    for (int64_t i = 0; i < block.count; ++i) {
      p[i] *= total[i];
      s[i] = -(std::log(p[i] + epsilon) + p[i] / (p[i] + epsilon));
      mean[i] += s[i] * p[i];
      if constexpr (kWeighted)
        sum += weight[i] * p[i];
      else
        sum += p[i];
    }
    marginal[k] += sum;
  }
  for (int64_t k = 0; k < block.classes; ++k) {
    const float *p = block.p + k * kBlock, *s = slope + k * kBlock;
    for (int64_t j = 0; j < block.sources; ++j) {
      const float* z = block.logits + (j * block.classes + k) * block.stride;
      float sum = 0;
      if constexpr (kWeighted)
        for (int64_t i = 0; i < block.count; ++i) sum += weight[i] * z[i] * p[i] * (s[i] - mean[i]);
      else
        for (int64_t i = 0; i < block.count; ++i) sum += z[i] * p[i] * (s[i] - mean[i]);
      gradient[j] += sum;
    }
  }
}

// Takes from `gradient` what the entropy of the marginal contributes, whose slope in every class is known by now.
template <bool kWeighted>
[[gnu::always_inline]] inline void second_sweep_of(const Block& block, const float* slope, double* gradient) {
  float mean[kBlock];
  float weight[kWeighted ? kBlock : 1];
  if constexpr (kWeighted) std::copy_n(block.weight, block.count, weight);
  for (int64_t i = 0; i < block.count; ++i) mean[i] = 0;
  for (int64_t k = 0; k < block.classes; ++k) {
    const float* p = block.p + k * kBlock;
    for (int64_t i = 0; i < block.count; ++i) mean[i] += slope[k] * p[i];
  }
  for (int64_t k = 0; k < block.classes; ++k) {
    const float* p = block.p + k * kBlock;
    for (int64_t j = 0; j < block.sources; ++j) {
      const float* z = block.logits + (j * block.classes + k) * block.stride;
      float sum = 0;
      if constexpr (kWeighted)
        for (int64_t i = 0; i < block.count; ++i) sum += weight[i] * z[i] * p[i] * (slope[k] - mean[i]);
      else
        for (int64_t i = 0; i < block.count; ++i) sum += z[i] * p[i] * (slope[k] - mean[i]);
      gradient[j] -= sum;
    }
  }
}

TRIBUTARY_CLONES void first_sweep(const Block& block, const float* size, float epsilon, float* slope, double* marginal,
                                  double* gradient) {
  first_sweep_of<false>(block, size, epsilon, slope, marginal, gradient);
}

TRIBUTARY_CLONES void weighted_first_sweep(const Block& block, const float* size, float epsilon, float* slope,
                                           double* marginal, double* gradient) {
  first_sweep_of<true>(block, size, epsilon, slope, marginal, gradient);
}

TRIBUTARY_CLONES void second_sweep(const Block& block, const float* slope, double* gradient) {
  second_sweep_of<false>(block, slope, gradient);
}

TRIBUTARY_CLONES void weighted_second_sweep(const Block& block, const float* slope, double* gradient) {
  second_sweep_of<true>(block, slope, gradient);
}

// Adds to `gradient` the gradient of the mean cross-entropy of the given labels, times `factor`: sum_k (p_k - y_k)
// z_jk.
void add_given(const GivenSamples& given, int64_t classes, const std::vector<float>& size, double factor,
               std::vector<double>& gradient) {
  std::vector<double> p(static_cast<size_t>(classes));
  const size_t width = p.size(), samples = given.label.size();
  const auto all = static_cast<double>(given.all);
  for (size_t i = 0; i < samples; ++i) {
    const float* const z = given.logits.data() + i * size.size() * width;
    std::fill(p.begin(), p.end(), 0);
    for (size_t j = 0; j < size.size(); ++j)
      for (size_t k = 0; k < width; ++k) p[k] += static_cast<double>(size[j]) * z[j * width + k];
    const double top = *std::max_element(p.begin(), p.end());
    double total = 0;
    for (double& value : p) total += value = std::exp(value - top);
    for (double& value : p) value /= total;
    p[static_cast<size_t>(given.label[i])] -= 1;
    for (size_t j = 0; j < size.size(); ++j)
      for (size_t k = 0; k < width; ++k) gradient[j] += factor / all * p[k] * z[j * width + k];
  }
}

}  // namespace

void descend(const float* logits, int64_t classes, int64_t samples, std::vector<float>& weights,
             const WeightDescent& options) {
  const auto sources = static_cast<int64_t>(weights.size());
  const int64_t blocks = (samples + kBlock - 1) / kBlock;
  std::vector<float> p(static_cast<size_t>(blocks * classes * kBlock)), slope(static_cast<size_t>(classes * kBlock));
  std::vector<float> size(weights.size()), marginal_slope(static_cast<size_t>(classes));
  std::vector<double> marginal(static_cast<size_t>(classes)), gradient(weights.size());
  const bool weighted = !options.sample_weight.empty();
  const auto block_at = [&](int64_t number) {
    const int64_t begin = number * kBlock;
    return Block{logits + begin,
                 samples,
                 sources,
                 classes,
                 std::min(kBlock, samples - begin),
                 weighted ? options.sample_weight.data() + begin : nullptr,
                 p.data() + number * classes * kBlock};
  };
  const bool divided = options.sum_over_ranks != nullptr;
  const auto total = static_cast<double>(divided ? options.all_samples : samples);
  for (int64_t step = 0; step < options.steps; ++step) {
    std::transform(weights.begin(), weights.end(), size.begin(), [](float w) { return std::fabs(w); });
    std::fill(marginal.begin(), marginal.end(), 0);
    std::fill(gradient.begin(), gradient.end(), 0);
    for (int64_t b = 0; b < blocks; ++b)
      (weighted ? weighted_first_sweep : first_sweep)(block_at(b), size.data(),
                                                      static_cast<float>(options.entropy_epsilon), slope.data(),
                                                      marginal.data(), gradient.data());
    if (divided) options.sum_over_ranks(marginal);
    std::transform(marginal.begin(), marginal.end(), marginal_slope.begin(), [&](double sum) {
      const double mean = sum / total, epsilon = options.marginal_epsilon;
      return static_cast<float>(-(std::log(mean + epsilon) + mean / (mean + epsilon)));
    });
    for (size_t k = 0; k < options.log_prior.size(); ++k) marginal_slope[k] += static_cast<float>(options.log_prior[k]);
    for (int64_t b = 0; b < blocks; ++b)
      (weighted ? weighted_second_sweep : second_sweep)(block_at(b), marginal_slope.data(), gradient.data());
    if (!options.given.label.empty()) add_given(options.given, classes, size, total, gradient);
    if (divided) options.sum_over_ranks(gradient);
    for (size_t j = 0; j < weights.size(); ++j) {
      const double sign = weights[j] > 0 ? 1 : weights[j] < 0 ? -1 : 0;
      weights[j] -= static_cast<float>(options.rate * sign * gradient[j] / total);
    }
  }
}

}  // namespace tributary
