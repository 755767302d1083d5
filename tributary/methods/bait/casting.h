// Casting a bait (Yang et al. 2020; docs/baselines.md, BAIT): two classifiers that find doubtful pictures.
//
// The anchor is the source's classifier and is frozen. The bait starts as its copy. In the cast step the bait moves
// away from the anchor on pictures that the anchor is unsure of, and stays with it on the others, so that doubtful
// features end up between the two. In the bite step the features move until both classifiers agree. All logits are
// float [b, K].
#pragma once

#include "tributary/model/layers.h"

namespace tributary {

// The distance between two heads. The released code applies softmax a second time, to probabilities, and detaches the
// factors outside the logarithms. The paper uses the symmetric Kullback-Leibler divergence, which is unbounded.
enum class HeadDistance { kCode, kPaper };

// +1 for the floor(b/2) entries with the largest entropy, -1 for the others: float [b] to float [b]. Ties are broken by
// index, so that the split depends neither on the device nor on the number of threads.
Tensor uncertain_signs(const Tensor& entropies);

// D_i per picture, float [b]. In the code's form the distance of a head to itself is not 0, and only its first half,
// 1/2 KL(p_a || softmax(p_b)), has a gradient in the bait's logits.
Tensor head_distances(const Tensor& anchor_logits, const Tensor& bait_logits, HeadDistance form);

// -weight mean_i sign_i D_i for distances and signs, float [b].
Tensor cast_loss(const Tensor& distances, const Tensor& signs, double weight);

// mean_i [-sum_k p_a ln(p_b + 1e-5) - sum_k p_b ln(p_a + 1e-5)]: the disagreement of the heads plus their uncertainty.
Tensor mutual_cross_entropy(const Tensor& anchor, const Tensor& bait);

// The mutual cross-entropy of probabilities [b, K] minus the entropies of both batch means, which balance the classes.
// Gradients flow through both heads.
Tensor bite_loss(const Tensor& anchor, const Tensor& bait);

// A trainable copy of a classifier: weight-normalised with v, g and bias, or a plain linear layer, depending on the
// parameters in `classifier`.
class BaitClassifier {
 public:
  explicit BaitClassifier(const NamedTensors& classifier);

  // [b, d] -> [b, K].
  Tensor operator()(const Tensor& features) const;
  const NamedTensors& parameters() const { return parameters_; }

 private:
  NamedTensors parameters_;
  Tensor weight_, direction_, length_, bias_;  // either the weight, or direction and length
};

}  // namespace tributary
