// The three steps of MA and its optimiser against an independent PyTorch script, through a file.
#include <nlohmann/json.hpp>

#include "tests/support/dump.h"
#include "tests/support/models.h"
#include "tests/support/python.h"
#include "tests/support/temp_dir.h"
#include "tests/support/tensors.h"
#include "tributary/methods/ma/ma_step.h"

namespace tributary {
namespace {

using test::Dump;

NamedTensors parameters_of(const SourceModel& source) {
  NamedTensors all = source.backbone_parameters();
  for (const NamedTensors& part : {source.bottleneck_parameters(), source.classifier_parameters()})
    all.insert(all.end(), part.begin(), part.end());
  return all;
}

void add_adam(Dump& dump, int steps, double rate, AdamOptions options) {
  const Tensor weight = test::normals({3, 4}, 50).requires_grad_();
  Adam adam({{{{"weight", weight}}, rate}}, options);
  dump.add("adam.start", weight);
  for (int i = 0; i < steps; ++i) {
    const Tensor gradient = test::normals({3, 4}, 51 + static_cast<uint64_t>(i));
    dump.add("adam.gradient." + std::to_string(i), gradient);
    adam.step({gradient});
    dump.add("adam.after." + std::to_string(i), weight);
  }
}

// Of these pictures at most one activation lies within 1e-6 of a kink of ReLU. Others have up to seven, and rounding
// then decides which way some gradients go (the script counts them).
constexpr uint64_t kPixelSeed = 9;

class MaParity : public ::testing::TestWithParam<std::pair<MaSpace, const char*>> {};

TEST_P(MaParity, LossesGradientsAndSingularVectorsMatch) {
  const auto& [space, architecture] = GetParam();
  const auto python = test::python_with("torch");
  if (!python) GTEST_SKIP() << "skipped: no python3-torch";
  SourceModel source(test::small_info(architecture), Random(1));
  MaNumbers numbers;
  numbers.space = space;
  numbers.lambda_weights = 0.01;
  numbers.lambda_clustering = 0.5;  // large, so that a wrong adversary shows in the gradients
  if (space == MaSpace::kFeature) numbers.adversary = {0.1, 0.1, true};
  // With equal dropout masks the divergence at the usual probe is as small as its rounding.
  numbers.adversary.probe = 3;
  MaStep step(source, numbers, Random(2));
  Dump dump;
  dump.add("origin.", parameters_of(source));
  for (const NamedTensor& parameter :
       parameters_of(source))  // move away from the source, so that the distance has a gradient
    parameter.value.detach().add_(test::normals(parameter.value.sizes(), 7), 0.003);
  dump.add("source.", source.state());
  dump.add("generator.", step.generator().parameters());
  const TensorList discriminator = step.discriminator().tensors();
  dump.add("discriminator.", discriminator.parameters);
  dump.add("discriminator.", discriminator.buffers);

  DropoutStream draws(Random(3), torch::kCPU), generated(Random(4), torch::kCPU), target(Random(5), torch::kCPU);
  const Tensor pixels = test::normals({6, 3, 32, 32}, kPixelSeed).sigmoid().contiguous(at::MemoryFormat::ChannelsLast);
  const Tensor real = step.begin(pixels, target);
  const MaDraw draw = step.draw(6, draws);
  const Tensor start = draws.normal(real.sizes());
  const MaGradients of_discriminator = step.discriminator_gradients(real, draw);
  const MaGradients of_generator = step.generator_gradients(draw);
  const MaGradients of_predictor = step.predictor_gradients(real, draw, start, torch::tensor(0.25f), generated, target);
  dump.add("pixels", pixels);
  dump.add("labels", draw.labels);
  dump.add("z", draw.z);
  dump.add("start", start);
  dump.add("mask.g.", generated.drawn());
  dump.add("mask.t.", target.drawn());
  dump.add("after.", discriminator.buffers);
  dump.add("loss.discriminator", of_discriminator.losses);
  dump.add("loss.generator", of_generator.losses);
  dump.add("loss.predictor", of_predictor.losses);
  dump.add("grad.discriminator.", discriminator.parameters, of_discriminator.gradients);
  dump.add("grad.generator.", step.generator().parameters(), of_generator.gradients);
  dump.add("grad.predictor.", parameters_of(source), of_predictor.gradients);
  add_adam(dump, 5, 0.7, {0.9, 0.999, 1e-8});  // large steps, so that they show in the weights

  test::TempDir folder;
  dump.write(folder / "ma.safetensors", {{"space", space == MaSpace::kImage ? "image" : "feature"},
                                         {"source", {{"architecture", architecture}, {"feature_width", 256}}},
                                         {"masks_g", generated.drawn().size()},
                                         {"masks_t", target.drawn().size()},
                                         {"lambda_g", numbers.lambda_generated},
                                         {"lambda_s", numbers.lambda_semantic},
                                         {"lambda_w", numbers.lambda_weights},
                                         {"lambda_clu", numbers.lambda_clustering},
                                         {"ramp", 0.25},
                                         {"xi", numbers.adversary.probe},
                                         {"radius", numbers.adversary.radius},
                                         {"adam_rate", 0.7},
                                         {"adam_betas", {0.9, 0.999}},
                                         {"adam_steps", 5}});
  EXPECT_TRUE(test::run_python(*python, "tests/parity/ma_reference.py", {folder / "ma.safetensors"}));
}

INSTANTIATE_TEST_SUITE_P(Spaces, MaParity,
                         ::testing::Values(std::pair(MaSpace::kImage, "lenet"), std::pair(MaSpace::kImage, "dtn"),
                                           std::pair(MaSpace::kFeature, "dtn")));

}  // namespace
}  // namespace tributary
