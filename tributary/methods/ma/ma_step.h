// One step of MA (Li et al., CVPR 2020; docs/baselines.md, MA): discriminator, generator, predictor.
//
// Samples are pictures of 32 x 32, or backbone features if the pictures are larger: the paper does not say how it
// generates pictures of 224 x 224. In feature space, generated samples train bottleneck and classifier only, and the
// clustering loss adapts the backbone.
#pragma once

#include "tributary/methods/ma/ma_networks.h"
#include "tributary/methods/ma/virtual_adversarial.h"
#include "tributary/model/source_model.h"
#include "tributary/train/adam.h"
#include "tributary/train/sgd.h"

namespace tributary {

enum class MaSpace { kAuto, kImage, kFeature };
// BatchNorm mode of the predictor for generated samples: batch or running statistics. Neither updates the running ones.
enum class MaBatchNorm { kTrain, kEval };
// The optimiser of the predictor.
enum class MaOptimiser { kSgd, kAdam };

// The hyper-parameters of a step, with defaults resolved.
struct MaNumbers {
  MaSpace space = MaSpace::kImage;
  double lambda_generated = 1, lambda_semantic = 0.1, lambda_weights = 1e-2, lambda_clustering = 0.01;
  VirtualAdversary adversary;
  bool saturating = false;
  MaBatchNorm generated_batch_norm = MaBatchNorm::kTrain;
  MaOptimiser optimiser = MaOptimiser::kSgd;
  double rate_generator = 1e-4, rate_discriminator = 4e-4, rate_backbone = 1e-3, rate_head = 1e-3;
  bool mixed = false;
};

// The input of the generator.
struct MaDraw {
  Tensor labels;  // int64 [n]
  Tensor z;       // float [n, generator().z_width()]
};

// Losses, float [..], and the gradient of their weighted sum for every parameter of the network that is updated.
struct MaGradients {
  Tensor losses;
  std::vector<Tensor> gradients;
};

class MaStep {
 public:
  enum Pass : size_t { kDraws, kGenerated, kTarget, kPasses };  // the dropout streams of a step

  // Makes all parameters of `source` trainable.
  MaStep(SourceModel& source, const MaNumbers& numbers, const Random& init);

  static std::vector<std::string> losses();

  // Runs all three updates for pixels [n, 3, s, s] in 0..1. `ramp`, float [] in 0..1, multiplies the weights of
  // generated samples and of clustering. If it is zero, the predictor and its running statistics do not change.
  Tensor run(const Tensor& pixels, const Tensor& rate_factor, const Tensor& ramp,
             std::vector<DropoutStream>& dropout_stream);

  // The parts of `run`. `real` is the batch in sample space; in feature space this is a training pass of the backbone,
  // and the predictor's step continues its graph.
  Tensor begin(const Tensor& pixels, DropoutStream& target);
  MaDraw draw(int64_t count, DropoutStream& dropout_stream) const;
  // Also updates the discriminator's singular vectors.
  MaGradients discriminator_gradients(const Tensor& real, const MaDraw& draw);
  MaGradients generator_gradients(const MaDraw& draw);
  // `start` are normal numbers in the shape of `real`. Updates the running statistics; `step_predictor` corrects them.
  MaGradients predictor_gradients(const Tensor& real, const MaDraw& draw, const Tensor& start, const Tensor& ramp,
                                  DropoutStream& generated, DropoutStream& target);
  void step_discriminator(const MaGradients& computed) { discriminator_optimiser_.step(computed.gradients); }
  void step_generator(const MaGradients& computed) { generator_optimiser_.step(computed.gradients); }
  void step_predictor(const MaGradients& computed, const Tensor& rate_factor, const Tensor& active);

  // The state of generator, discriminator and optimisers.
  NamedTensors state() const;

  // Samples for the predictor and the discriminator, float [n, ...].
  Tensor generate(const MaDraw& draw) const;
  const ClassGenerator& generator() const { return generator_; }
  const SpectralDiscriminator& discriminator() const { return discriminator_; }

 private:
  Tensor predict(const Tensor& samples, DropoutStream* dropout_stream, bool mixed) const;
  Tensor judge(const Tensor& samples, const std::vector<Tensor>& weights) const;

  SourceModel& source_;
  MaNumbers numbers_;
  int64_t classes_;
  ClassGenerator generator_;
  SpectralDiscriminator discriminator_;
  Adam generator_optimiser_, discriminator_optimiser_, predictor_optimiser_;
  Sgd predictor_sgd_;                                         // used instead of Adam with MaOptimiser::kSgd
  std::vector<Tensor> origin_;                                // the source's initial weights
  std::vector<Tensor> statistics_;                            // running statistics of the predictor
  std::vector<Tensor> statistics_before_, statistics_after_;  // before the step, and after the pass of real samples
};

}  // namespace tributary
