// A Gaussian mixture over the features of the target set, one component per class (Lee et al., ICML 2022;
// docs/baselines.md, CoWA-JMDS).
//
// The model's probabilities start the mixture, one round of expectation and maximisation lets the features correct it.
// Everything is computed in float64: a class with fewer pictures than dimensions has directions whose variance is
// epsilon alone.
#pragma once

#include "tributary/base/tensor.h"

namespace tributary {

// Rows x [n, d] that the mixture is fitted to, converted one block at a time (adapt/feature_rows.h).
struct MixtureRows {
  Tensor features;       // [n, d], of any type and on any device
  torch::Device device;  // where to compute
  bool normalised;       // divides every row by its length; a row of zeros stays as it is

  int64_t size() const { return features.size(0); }
  int64_t width() const { return features.size(1); }
  // Rows begin .. end, double.
  Tensor block(int64_t begin, int64_t end) const;
};

struct MixtureFit {
  Tensor mass;         // double [K], pi_k: a sum over pictures, not a share
  Tensor means;        // double [K, d]
  Tensor log_density;  // double [n, K], ln of pi_k N(x_i; mu_k, Sigma_k); -infinity in a dropped class
  Tensor live;         // bool [K], false for classes that were dropped because their mass is below `kDeadMass`
  double jitter;       // the largest addition to a diagonal that was needed

  // gamma, double [n, K]: the softmax of the densities.
  Tensor responsibilities() const { return log_density.softmax(1); }
};

constexpr double kDeadMass = 1e-6;

// The fit to probabilities [n, K]. All classes share the scatter of the whole set, taken around their own mean:
// Sigma_k = S + eps I + d_k d_k^T with the total covariance S and d_k = total mean - mu_k. One factorisation of S + eps
// I serves all of them (Sherman and Morrison). Throws a WorkError on non-finite features.
MixtureFit first_fit(const MixtureRows& rows, const Tensor& probabilities, double epsilon);

// The fit to responsibilities double [n, K], with a covariance per class.
MixtureFit refit(const MixtureRows& rows, const Tensor& responsibilities, double epsilon);

// sum_i w_i (x_i - mean)(x_i - mean)^T / sum_i w_i for weights double [n] and a mean double [d]: double [d, d]. Rows of
// a weight below 1e-12 are skipped.
Tensor weighted_covariance(const MixtureRows& rows, const Tensor& weights, const Tensor& mean);

// ln N(x_i; mean, L L^T) for a lower triangular L [d, d]: double [n].
Tensor log_gaussian(const MixtureRows& rows, const Tensor& mean, const Tensor& lower);

struct CovarianceFactor {
  Tensor lower;   // L with L L^T = covariance + jitter I
  double jitter;  // epsilon times a power of ten
};

// Multiplies the jitter by ten until the factorisation succeeds, up to 1e-2; throws a WorkError if that fails, too.
CovarianceFactor factorise(const Tensor& covariance, double epsilon);

}  // namespace tributary
