// One step of MA (Li et al., CVPR 2020; docs/method.md, MA): discriminator, generator, predictor.
//
// Samples are pictures of 32 x 32, or the backbone's features where pictures are larger: how the authors generated
// pictures of 224 x 224 is not known. In the space of features generated samples train bottleneck and classifier only,
// and the backbone is adapted by the clustering loss.
#pragma once

#include "tributary/methods/ma/ma_networks.h"
#include "tributary/methods/ma/virtual_adversarial.h"
#include "tributary/model/source_model.h"
#include "tributary/train/adam.h"
#include "tributary/train/sgd.h"

namespace tributary {

enum class MaSpace { kAuto, kImage, kFeature };
// Whether the predictor meets generated samples with batch statistics or with the running ones. Neither moves the
// running ones.
enum class MaFakes { kTrain, kEval };
// How the predictor goes down its slopes.
enum class MaDescent { kSgd, kAdam };

// The hyper-parameters of a step, resolved for one kind of pictures.
struct MaNumbers {
  MaSpace space = MaSpace::kImage;
  double lambda_generated = 1, lambda_semantic = 0.1, lambda_weights = 1e-2, lambda_clustering = 0.01;
  VirtualAdversary adversary;
  bool saturating = false;
  MaFakes fakes = MaFakes::kTrain;
  MaDescent descent = MaDescent::kSgd;
  double rate_generator = 1e-4, rate_discriminator = 4e-4, rate_backbone = 1e-3, rate_head = 1e-3;
  bool mixed = false;
};

// What a generator starts from.
struct MaDraw {
  Tensor labels;  // int64 [n]
  Tensor z;       // float [n, generator().z_width()]
};

// Losses, float [..], and the gradient of their weighted sum in every parameter of the network whose step it is.
struct MaSlopes {
  Tensor losses;
  std::vector<Tensor> gradients;
};

class MaStep {
 public:
  enum Pass : size_t { kDraws, kGenerated, kTarget, kPasses };  // the dropout streams of a step

  // All parameters of `source` are trained from here on.
  MaStep(SourceModel& source, const MaNumbers& numbers, const Random& init);

  static std::vector<std::string> losses();

  // All three steps for pixels [n, 3, s, s] in 0..1. `ramp`, float [] in 0..1, multiplies the weights of generated
  // samples and of clustering. With zero, the predictor stays as it is, running statistics included.
  Tensor run(const Tensor& pixels, const Tensor& rate_factor, const Tensor& ramp,
             std::vector<DropoutStream>& dropout_stream);

  // The parts of it. `real` is the batch in the space of samples; in that of features this is a training pass of the
  // backbone, from which the predictor's step continues.
  Tensor begin(const Tensor& pixels, DropoutStream& target);
  MaDraw draw(int64_t count, DropoutStream& dropout_stream) const;
  // Moves the discriminator's singular vectors, too.
  MaSlopes discriminator_slopes(const Tensor& real, const MaDraw& draw);
  MaSlopes generator_slopes(const MaDraw& draw);
  // `start` are normal numbers in the shape of `real`. Moves the running statistics; `step_predictor` puts them right.
  MaSlopes predictor_slopes(const Tensor& real, const MaDraw& draw, const Tensor& start, const Tensor& ramp,
                            DropoutStream& generated, DropoutStream& target);
  void step_discriminator(const MaSlopes& slopes) { discriminator_optimiser_.step(slopes.gradients); }
  void step_generator(const MaSlopes& slopes) { generator_optimiser_.step(slopes.gradients); }
  void step_predictor(const MaSlopes& slopes, const Tensor& rate_factor, const Tensor& active);

  // Generator, discriminator and what the optimisers keep.
  NamedTensors state() const;

  // Samples as the predictor and the discriminator take them, float [n, ...].
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
  Sgd predictor_descent_;                                     // instead of Adam, where that is chosen
  std::vector<Tensor> origin_;                                // the source's own weights
  std::vector<Tensor> statistics_;                            // the running ones of the predictor
  std::vector<Tensor> statistics_before_, statistics_after_;  // before the step, and after the pass of real samples
};

}  // namespace tributary
