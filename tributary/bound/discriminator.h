// Scores that discriminate between two sets of features, fitted to samples of both.
//
// Each score is higher the more a vector looks like the first set. The quadratic scores use mean and covariance of both
// sets: they are right for Gaussians, and need few samples because they are in closed form. If samples come in groups
// (classes), the centre scores use the distance to the nearest group mean and its margin to the next, because selection
// by confidence follows them. The scores are not calibrated; combine them on held-out samples.
#pragma once

#include <optional>

#include "tributary/base/tensor.h"

namespace tributary {

// Two sets of features in one tensor, on the CPU.
struct TwoSets {
  Tensor features;  // double [n, d]
  Tensor first;     // bool [n], whether a sample is of the first set
  Tensor group;     // int64 [n], class or cluster, -1 for none; undefined without groups

  TwoSets rows(const Tensor& index) const;
};

class Discriminator {
 public:
  explicit Discriminator(const TwoSets& training);

  // Scores, double [n, k], of features, double [n, d]. k depends only on whether there are groups.
  Tensor scores(const Tensor& features) const;

 private:
  struct Moments {
    Tensor mean;                   // [d]
    Tensor covariance, precision;  // [d, d]
    double spread = 0;             // mean variance
  };
  struct Centres {
    Tensor mean;      // [g, d]
    Tensor log_odds;  // [g], log odds that a sample of the group is of the first set
    double unit = 1;  // mean squared distance of samples to the centre of their group
  };

  static Moments moments_of(const Tensor& samples);
  // [d, r]: principal directions whose variance differs more from the mean variance than sampling noise of an isotropic
  // distribution explains (Marchenko and Pastur, 1967).
  static Tensor outstanding_directions(const Moments& moments, int64_t samples);
  static std::optional<Centres> centres_of(const TwoSets& training);
  Tensor quadratic_scores(const Tensor& features) const;
  Tensor centre_scores(const Tensor& features) const;

  Tensor origin_, whitening_;  // [d] and [d, d]: whiten the common covariance of both sets
  Moments first_, second_;     // in the whitened space
  Tensor outstanding_;         // outstanding directions of the first set
  bool grouped_ = false;
  std::optional<Centres> centres_;  // empty if fewer than two groups have samples
};

}  // namespace tributary
