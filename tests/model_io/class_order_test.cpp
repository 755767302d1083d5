#include "tributary/model_io/class_order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/script.h>

#include <sstream>

#include "tests/support/models.h"
#include "tests/support/temp_dir.h"
#include "tests/support/tensors.h"
#include "tributary/base/error.h"
#include "tributary/model/scripted_source.h"

namespace tributary {
namespace {

using Names = std::vector<std::string>;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(ClassOrder, ComparesNamesWithoutCase) {
  EXPECT_THAT(class_order({"Dog", "cat", "TREE"}, {"cat", "tree", "dog"}), ElementsAre(1, 2, 0));
  EXPECT_THAT(class_order({"cat", "dog"}, {"cat", "horse"}), IsEmpty());
  EXPECT_THAT(class_order({"cat", "dog"}, {"cat", "dog", "tree"}), IsEmpty());
}

TEST(ClassOrder, NamesThatDifferOnlyInCaseAreComparedExactly) {
  EXPECT_THAT(class_order({"a", "A"}, {"A", "a"}), ElementsAre(1, 0));
  EXPECT_THAT(class_order({"a", "A"}, {"a", "b"}), IsEmpty());
}

SourceModel source_with(const Names& classes, uint64_t seed) {
  ModelInfo info = test::small_info("lenet", static_cast<int64_t>(classes.size()));
  info.classes = classes;
  return SourceModel(info, Random(seed));
}

TEST(AlignClasses, ReordersLogitsByName) {
  std::vector<SourceModel> sources;
  sources.push_back(source_with({"cat", "dog", "tree"}, 1));
  sources.push_back(source_with({"Tree", "Cat", "Dog"}, 2));
  sources.push_back(source_with({"CAT", "dog", "tree"}, 3));
  const torch::NoGradGuard no_gradients;
  const Tensor phi = torch::randn({4, sources[1].info().feature_width});
  const Tensor before = sources[1].classify(phi), third = sources[2].classify(phi);
  EXPECT_THAT(align_classes(sources, {"a", "b", "c"}), ElementsAre(1));
  for (const SourceModel& source : sources) EXPECT_EQ(source.info().classes, (Names{"cat", "dog", "tree"}));
  EXPECT_TRUE(torch::allclose(sources[1].classify(phi), before.index_select(1, torch::tensor({1, 2, 0}))));
  EXPECT_TRUE(torch::equal(sources[2].classify(phi), third));
}

// A TorchScript source whose method `classify` is `classify`, with the weight c.
SourceModel scripted(const std::string& classify, const Tensor& c) {
  constexpr int kSize = 4;
  torch::jit::Module module("net");
  module.register_parameter("w", torch::randn({3 * kSize * kSize, 6}).requires_grad_(), false);
  module.register_parameter("c", c.clone().requires_grad_(), false);
  module.define("def features(self, x: Tensor) -> Tensor:\n    return torch.matmul(torch.flatten(x, 1), self.w)\n");
  module.define("def classify(self, phi: Tensor) -> Tensor:\n    return " + classify + "\n");
  std::ostringstream stream;
  module.save(stream);
  ModelInfo info = test::small_info("lenet", 3, 6);
  info.architecture = kTorchScript;
  info.classes = {"tree", "cat", "dog"};
  return SourceModel(info, std::make_unique<ScriptedSource>(stream.str(), "x.pt", "", kSize));
}

TEST(AlignClasses, ReordersTheLinearClassifierOfTorchScript) {
  const Tensor c = torch::randn({3, 6}), phi = torch::randn({4, 6});
  std::vector<SourceModel> sources;
  sources.push_back(source_with({"cat", "dog", "tree"}, 1));
  sources.push_back(scripted("torch.log_softmax(torch.linear(phi, self.c), 1)", c));
  const Tensor before = sources[1].classify(phi);
  EXPECT_THAT(align_classes(sources, {"a", "x.pt"}), ElementsAre(1));
  EXPECT_TRUE(torch::allclose(sources[1].classify(phi), before.index_select(1, torch::tensor({1, 2, 0}))));
  const ScriptedSource saved(sources[1].scripted()->bytes(), "y.pt", "", 4);
  EXPECT_TRUE(torch::equal(saved.classify(phi), sources[1].classify(phi)));

  sources[1] = scripted("torch.linear(phi, self.c) + torch.arange(3)", c);
  EXPECT_THAT(test::message_of<InputError>([&] {
                align_classes(sources, {"a", "x.pt"});
              }),
              HasSubstr("x.pt: its classes have another order, and its 'classify' is not one linear layer"));
}

TEST(AlignClasses, UnitesDifferentClassesInTheOrderOfTheirAppearance) {
  std::vector<SourceModel> sources;
  sources.push_back(source_with({"cat", "dog"}, 1));
  sources.push_back(source_with({"horse", "Dog", "tree"}, 2));
  const torch::NoGradGuard no_gradients;
  const Tensor phi = torch::randn({4, sources[1].info().feature_width});
  const Tensor before = sources[1].classify(phi);
  EXPECT_THAT(align_classes(sources, {"a", "b"}), IsEmpty());
  for (const SourceModel& source : sources) EXPECT_EQ(source.info().classes, (Names{"cat", "dog", "horse", "tree"}));
  EXPECT_THAT(sources[1].outputs(), ElementsAre(2, 1, 3));
  const Tensor after = sources[1].classify(phi);
  EXPECT_TRUE(torch::equal(after.index_select(1, torch::tensor({2, 1, 3})), before));
  EXPECT_EQ(after.select(1, 0).abs().max().item<double>(), 0);
  EXPECT_TRUE(torch::equal(sources[1].known(), torch::tensor({false, true, true, true})));
}

TEST(AlignClasses, AThirdSourceLinksTwoWithoutACommonClass) {
  std::vector<SourceModel> sources;
  sources.push_back(source_with({"cat", "dog"}, 1));
  sources.push_back(source_with({"tree", "horse"}, 2));
  sources.push_back(source_with({"dog", "tree"}, 3));
  align_classes(sources, {"a", "b", "c"});
  EXPECT_EQ(sources[2].info().classes, (Names{"cat", "dog", "tree", "horse"}));
}

TEST(AlignClasses, RefusesSourcesWithoutACommonClass) {
  const auto message = [](const std::vector<Names>& classes) {
    std::vector<SourceModel> sources;
    for (size_t j = 0; j < classes.size(); ++j) sources.push_back(source_with(classes[j], j));
    return test::message_of<InputError>([&] { align_classes(sources, {"a.pth", "b.pth", "c.pth"}); });
  };
  EXPECT_THAT(message({{"cat", "dog"}, {"tree", "horse"}}),
              HasSubstr("a.pth and b.pth have no class in common; rename classes with --classes"));
  EXPECT_THAT(message({{"cat", "dog"}, {"0", "1"}}), HasSubstr("b.pth:classes=FILE"));
  EXPECT_THAT(message({{"cat", "dog"}, {"dog", "horse"}, {"sun", "moon"}}),
              HasSubstr("a.pth and c.pth have no class in common"));
}

}  // namespace
}  // namespace tributary
