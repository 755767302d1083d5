#include "tributary/model/scripted_source.h"

#include <gmock/gmock.h>
#include <torch/script.h>

#include <sstream>

#include "tests/support/temp_dir.h"
#include "tests/support/tensors.h"
#include "tributary/base/error.h"

namespace tributary {
namespace {

using test::message_of;
using ::testing::HasSubstr;

constexpr int kSize = 4, kPixels = 3 * kSize * kSize;

std::string bytes_of(torch::jit::Module& module) {
  std::ostringstream stream;
  module.save(stream);
  return stream.str();
}

// phi = dropout(x W), z = phi C, with a parameter that is not trained and a buffer.
std::string two_methods() {
  torch::jit::Module module("net");
  module.register_attribute("training", c10::BoolType::get(), true);
  module.register_parameter("w", test::normals({kPixels, 6}, 1).requires_grad_(), false);
  module.register_parameter("c", test::normals({6, 3}, 2).requires_grad_(), false);
  module.register_parameter("fixed", torch::zeros({6}), false);
  module.register_buffer("shift", torch::ones({6}));
  module.define(R"(
def features(self, x: Tensor) -> Tensor:
    return torch.dropout(torch.matmul(torch.flatten(x, 1), self.w) + self.shift + self.fixed, 0.5, self.training)
def classify(self, phi: Tensor) -> Tensor:
    return torch.matmul(phi, self.c)
)");
  return bytes_of(module);
}

// One forward pass that ends in the linear layer "head".
std::string one_forward(const std::string& after = "") {
  torch::jit::Module head("head");
  head.register_parameter("weight", test::normals({3, 6}, 2).requires_grad_(), false);
  head.register_parameter("bias", test::normals({3}, 3).requires_grad_(), false);
  head.define("def forward(self, x: Tensor) -> Tensor:\n    return torch.linear(x, self.weight, self.bias)\n");
  torch::jit::Module module("net");
  module.register_module("head", head);
  module.register_parameter("w", test::normals({kPixels, 6}, 1).requires_grad_(), false);
  module.define(
      "def forward(self, x: Tensor) -> Tensor:\n    return self.head.forward(torch.matmul(torch.flatten(x, "
      "1), self.w))" +
      after + "\n");
  return bytes_of(module);
}

std::vector<std::string> names(const NamedTensors& tensors) {
  std::vector<std::string> result;
  for (const NamedTensor& tensor : tensors) result.push_back(tensor.name);
  return result;
}

TEST(ScriptedSource, DetectsShapesAndTheParametersOfTheClassifier) {
  ScriptedSource source(two_methods(), "x.pt", "", kSize);
  EXPECT_EQ(source.feature_width(), 6);
  EXPECT_EQ(source.classes(), 3);
  EXPECT_THAT(names(source.backbone().parameters), ::testing::ElementsAre("backbone.w"));
  EXPECT_THAT(names(source.backbone().buffers), ::testing::ElementsAre("backbone.fixed", "backbone.shift"));
  EXPECT_THAT(names(source.classifier().parameters), ::testing::ElementsAre("classifier.c"));
}

TEST(ScriptedSource, EvaluatesWithoutDropoutAndSeedsItInTraining) {
  ScriptedSource source(two_methods(), "x.pt", "", kSize);
  const Tensor x = test::normals({2, 3, kSize, kSize}, 4);
  EXPECT_TENSOR_NEAR(source.features(x, nullptr), x.flatten(1).matmul(test::normals({kPixels, 6}, 1)) + 1, 1e-4);
  const auto trained = [&](uint64_t seed) {
    DropoutStream dropout_stream(Random(seed), torch::kCPU);
    return source.features(x, &dropout_stream);
  };
  EXPECT_TENSOR_EQ(trained(1), trained(1));
  EXPECT_FALSE(torch::equal(trained(1), trained(2)));
}

TEST(ScriptedSource, SplitsForwardBeforeTheLastLayer) {
  ScriptedSource source(one_forward(), "x.pt", "head", kSize);
  const Tensor x = test::normals({2, 3, kSize, kSize}, 4);
  const Tensor phi = source.features(x, nullptr);
  EXPECT_TENSOR_NEAR(phi, x.flatten(1).matmul(test::normals({kPixels, 6}, 1)), 1e-4);
  EXPECT_TENSOR_NEAR(source.classify(phi), at::linear(phi, test::normals({3, 6}, 2), test::normals({3}, 3)), 1e-4);
  EXPECT_THAT(names(source.backbone().parameters), ::testing::ElementsAre("backbone.w"));
  EXPECT_THAT(names(source.classifier().parameters), ::testing::ElementsAre("classifier.weight", "classifier.bias"));
}

TEST(ScriptedSource, SavesTrainedWeightsAndRestoresTheLastLayer) {
  for (const bool by_last_layer : {false, true}) {
    ScriptedSource source(by_last_layer ? one_forward() : two_methods(), "x.pt", by_last_layer ? "head" : "", kSize);
    for (const NamedTensor& tensor : source.backbone().parameters) tensor.value.detach().mul_(2);
    const Tensor x = test::normals({2, 3, kSize, kSize}, 4);
    const Tensor z = source.classify(source.features(x, nullptr));
    ScriptedSource reloaded(source.bytes(), "y.pt", by_last_layer ? "head" : "", kSize);
    EXPECT_TENSOR_NEAR(reloaded.classify(reloaded.features(x, nullptr)), z, 1e-5);
    EXPECT_TENSOR_NEAR(source.classify(source.features(x, nullptr)), z, 0);  // saving does not change the source
    std::istringstream stream(source.bytes());
    torch::jit::Module module = torch::jit::load(stream);
    if (by_last_layer) {
      EXPECT_TENSOR_NEAR(module.forward({x}).toTensor(), z, 1e-5);
    }
  }
}

TEST(ScriptedSource, RejectsUnsuitableModules) {
  const auto error_of = [](const std::string& bytes, const std::string& last_layer = "", int size = kSize) {
    return message_of<InputError>([&] { ScriptedSource(bytes, "x.pt", last_layer, size); });
  };
  EXPECT_THAT(error_of("nonsense"), HasSubstr("x.pt is not a TorchScript module that this LibTorch can load"));
  EXPECT_THAT(error_of(one_forward()), HasSubstr("x.pt: the module has no methods 'features' and 'classify'"));
  EXPECT_THAT(error_of(one_forward()), HasSubstr("name its last linear layer with --last-layer (perhaps head)"));
  EXPECT_THAT(error_of(one_forward(), "tail"), HasSubstr("has no layer 'tail'"));
  EXPECT_THAT(error_of(one_forward(), "w"), HasSubstr("has no layer 'w'"));
  EXPECT_THAT(error_of(one_forward(".softmax(1)"), "head"),
              HasSubstr("the output is not that of the layer named with --last-layer"));
  EXPECT_THAT(error_of(two_methods(), "", 5), HasSubstr("the module fails on two pictures of 5x5"));
  EXPECT_THAT(error_of(one_forward(".sum(1)"), "head"), HasSubstr("shape"));
}

// A module whose methods do `features` and `classify` with the rows of x and of phi.
std::string with_bodies(const std::string& features, const std::string& classify) {
  torch::jit::Module module("net");
  module.register_parameter("c", test::normals({kPixels, 3}, 2).requires_grad_(), false);
  module.define("def features(self, x: Tensor) -> Tensor:\n" + features +
                "\ndef classify(self, phi: Tensor) -> Tensor:\n" + classify + "\n");
  return bytes_of(module);
}

TEST(ScriptedSource, KeepsTheBatchThatAModuleWritesTo) {
  const std::string linear = "    return torch.matmul(phi, self.c)";
  ScriptedSource writing(with_bodies("    return torch.flatten(x.sub_(0.5), 1)", linear), "x.pt", "", kSize);
  ScriptedSource reading(with_bodies("    return torch.flatten(x - 0.5, 1)", linear), "x.pt", "", kSize);
  const Tensor x = test::normals({5, 3, kSize, kSize}, 4), kept = x.clone();
  EXPECT_TENSOR_EQ(writing.features(x, nullptr), reading.features(x, nullptr));
  EXPECT_TENSOR_EQ(x, kept);
}

TEST(ScriptedSource, RefusesModulesThatFailOnOtherBatches) {
  const std::string flat = "    return torch.flatten(x, 1)", linear = "    return torch.matmul(phi, self.c)";
  const Tensor x = test::normals({5, 3, kSize, kSize}, 4);
  const auto error_of = [&](const std::string& features, const std::string& classify) {
    ScriptedSource source(with_bodies(features, classify), "x.pt", "", kSize);
    return message_of<InputError>([&] { source.classify(source.features(x, nullptr)); });
  };
  EXPECT_EQ(error_of(flat + "[:2]", linear),
            "x.pt: 'features' returned Float [2, 48] for 5 pictures; a module must return [n, 48] for n pictures");
  EXPECT_THAT(error_of(flat, linear + "[:2]"), HasSubstr("'classify' returned Float [2, 3] for 5 pictures"));
  EXPECT_THAT(message_of<InputError>([&] {
                ScriptedSource(with_bodies(flat + "[:, :0]", "    return torch.zeros(2, 3)"), "x.pt", "", kSize);
              }),
              HasSubstr("the features of two pictures have shape [2, 0] instead of [2, width]"));
  EXPECT_THAT(error_of(flat, linear + ".long()"), HasSubstr("'classify' returned Long [5, 3]"));
  EXPECT_THAT(error_of(flat, linear + ".view(2, -1)"), HasSubstr("x.pt: the module fails on 5 pictures (shape "));
  EXPECT_THAT(error_of("    assert x.size(0) <= 2, 'mine'\n" + flat, linear),
              HasSubstr("x.pt: the module fails on 5 pictures (mine)"));
  // Out of memory is none of the module's mistakes: smaller batches may help.
  ScriptedSource large(with_bodies("    assert x.size(0) <= 2, 'out of memory'\n" + flat, linear), "x.pt", "", kSize);
  EXPECT_EQ(message_of<InputError>([&] {
              try {
                large.features(x, nullptr);
              } catch (const InputError&) {
                throw;
              } catch (const std::exception&) {
                input_error("passed");
              }
            }),
            "passed");
}

}  // namespace
}  // namespace tributary
