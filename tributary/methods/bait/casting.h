// Casting a bait (Yang et al. 2020; docs/method.md, BAIT): two classifiers that find each other's doubtful pictures.
//
// The anchor is the source's classifier and never moves. The bait starts as its copy. In the cast step the bait moves
// away from the anchor on pictures that the anchor is unsure of and stays with it on the others, so that doubtful
// features end up between the two. In the bite step the features move until both classifiers say the same. All logits
// are float [b, K].
#pragma once

#include "tributary/model/layers.h"

namespace tributary {

// How far apart two heads are. The released code takes the softmax of probabilities, a second one, and detaches what
// stands outside of its logarithms; the paper has the symmetric Kullback-Leibler divergence, which has no upper bound.
enum class HeadDistance { kCode, kPaper };

// +1 for the floor(b/2) entries of the largest entropy, -1 for the others: float [b] to float [b]. Equal entropies go
// by index, so that a split depends neither on the device nor on the number of threads.
Tensor uncertain_signs(const Tensor& entropies);

// D_i for every picture, float [b]. In the code's form the distance of a head to itself is not 0, and only its first
// half, 1/2 KL(p_a || softmax(p_b)), has a gradient in the bait's logits.
Tensor head_distances(const Tensor& anchor_logits, const Tensor& bait_logits, HeadDistance form);

// -weight mean_i sign_i D_i, of distances and signs, float [b].
Tensor cast_loss(const Tensor& distances, const Tensor& signs, double weight);

// mean_i [-sum_k p_a ln(p_b + 1e-5) - sum_k p_b ln(p_a + 1e-5)]: what the heads disagree about, and how unsure they
// are.
Tensor mutual_cross_entropy(const Tensor& anchor, const Tensor& bait);

// The mutual cross-entropy of probabilities [b, K] less the entropies of both batch means, which keep the classes in
// balance. Its gradient goes through both heads.
Tensor bite_loss(const Tensor& anchor, const Tensor& bait);

// A classifier that starts as a copy of another and is trained by itself: weight-normalised with v, g and bias, or a
// plain linear layer, whichever the parameters in `classifier` are.
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
