// Judges that tell two sets of features apart, learned from samples of both.
//
// Each judge gives a vector a score that is higher the more it looks like the first set. The quadratic judges know mean
// and covariance of both sets: right for Gaussians, and sparing with samples, since nothing in them is searched for.
// Where samples come in groups (classes), the centre judges ask how near the nearest group's mean is and by how much
// nearer than the next: selections by confidence follow that. None of them is calibrated; whoever combines them does so
// on samples that they have not seen.
#pragma once

#include <optional>

#include "tributary/base/tensor.h"

namespace tributary {

// Two sets of features in one tensor, on the CPU.
struct TwoSets {
  Tensor features;  // double [n, d]
  Tensor first;     // bool [n], which samples are of the first set
  Tensor group;     // int64 [n], a class or cluster each, -1 for none; undefined where there are no groups

  TwoSets rows(const Tensor& index) const;
};

class Discriminator {
 public:
  explicit Discriminator(const TwoSets& training);

  // double [n, k] for features double [n, d]; k is the same for all discriminators with groups, or without.
  Tensor scores(const Tensor& features) const;

 private:
  struct Moments {
    Tensor mean;                   // [d]
    Tensor covariance, precision;  // [d, d]
    double spread = 0;             // mean variance
  };
  struct Centres {
    Tensor mean;      // [g, d]
    Tensor leaning;   // [g], log of the odds that a sample of a group is of the first set
    double unit = 1;  // mean squared distance to the own centre
  };

  static Moments moments_of(const Tensor& samples);
  // [d, r]: along which the variance differs more from its mean than so many samples of a round distribution would
  // have it (Marchenko and Pastur, 1967).
  static Tensor outstanding_directions(const Moments& moments, int64_t samples);
  static std::optional<Centres> centres_of(const TwoSets& training);
  Tensor quadratic_scores(const Tensor& features) const;
  Tensor centre_scores(const Tensor& features) const;

  Tensor origin_, whitening_;  // [d] and [d, d]: the sets' common covariance becomes the identity
  Moments first_, second_;     // in the whitened space
  Tensor outstanding_;         // of the first set
  bool grouped_ = false;
  std::optional<Centres> centres_;  // none where fewer than two groups have samples
};

}  // namespace tributary
