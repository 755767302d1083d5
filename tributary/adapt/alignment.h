// Joint adversarial alignment (Eq. 13): one discriminator over the features of all sources at once.
//
// A selection moves the confident features away from the rest: the misalignment term of the bound. The discriminator d
// learns to tell confident (1) from unconfident (0) in the joint space [phi_1 .. phi_m], the sources learn to make them
// alike. Joint alignment bounds the alignment of every source alone (Remark 1). The sources need only the gradient of
// the loss in their own features, so this file knows nothing of networks.
#pragma once

#include <vector>

#include "tributary/base/random.h"
#include "tributary/model/layers.h"

namespace tributary {

enum class DiscriminatorOutput { kSigmoid, kDoubleSigmoid };  // A1: the released code feeds a sigmoid to a logit loss
enum class FeatureObjective { kSwapped, kMinimax };           // A2: non-saturating with swapped labels, or minus d's
enum class Alternation { kAlternate, kSimultaneous };         // A3: features against the new d, or the old one
enum class AdversarialCopies { kOnce, kEvery, kDescending };  // A4: 1, m or m - j copies of the loss for source j

struct AlignmentOptions {
  DiscriminatorOutput output = DiscriminatorOutput::kSigmoid;
  FeatureObjective objective = FeatureObjective::kSwapped;
  Alternation alternation = Alternation::kAlternate;
  AdversarialCopies copies = AdversarialCopies::kOnce;
  bool leak = false;   // A5: d's own loss also reaches the features, as in the released code
  double rate = 1e-2;  // A6: plain SGD, never scheduled
  double momentum = 0;
  double weight_decay = 0;
  double factor = 0.5;  // A7: of both adversarial losses
};

// The result of one step: the gradient of the adversarial loss in the features, per source.
struct AlignmentStep {
  Tensor adversarial_loss;                   // scalar, the features' objective
  Tensor discriminator_loss;                 // scalar, before d's step
  std::vector<Tensor> confident_gradient;    // [n_l, d_j]
  std::vector<Tensor> unconfident_gradient;  // [n_u, d_j]
};

// d: R^{sum d_j} -> 64 -> ReLU -> one logit; Xavier-normal weights, zero biases.
class Adversary {
 public:
  Adversary(int64_t joint_width, AlignmentOptions options, Random init);

  // One discriminator step on the detached features, then the features' loss and its gradient in each source's own.
  AlignmentStep step(const std::vector<Tensor>& confident, const std::vector<Tensor>& unconfident);

  Tensor logit(const Tensor& joint) const;
  NamedTensors parameters() const;
  // Parameters and momentum.
  NamedTensors state() const;
  void to(torch::Device device);

 private:
  struct Losses;
  Losses losses(const Tensor& confident, const Tensor& unconfident) const;
  void descend(const std::vector<Tensor>& gradient);

  AlignmentOptions options_;
  Linear hidden_, output_;
  std::vector<Tensor> velocity_;
};

// How often the adversarial loss counts for source `index` of `sources`.
double adversarial_copies(AdversarialCopies copies, int64_t index, int64_t sources);

}  // namespace tributary
