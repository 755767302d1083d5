#include "tributary/model_io/class_order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/models.h"
#include "tributary/base/error.h"

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

TEST(AlignClasses, RefusesOtherClasses) {
  const auto message = [](const Names& first, const Names& second) -> std::string {
    std::vector<SourceModel> sources;
    sources.push_back(source_with(first, 1));
    sources.push_back(source_with(second, 2));
    try {
      align_classes(sources, {"a.pth", "b.pth"});
    } catch (const InputError& error) {
      return error.what();
    }
    return {};
  };
  EXPECT_THAT(message({"cat", "dog"}, {"dog", "horse"}), HasSubstr("b.pth has the class 'horse', a.pth has 'cat'"));
  EXPECT_THAT(message({"cat", "dog"}, {"dog", "horse", "cat"}), HasSubstr("b.pth has 3 classes but a.pth has 2"));
  EXPECT_THAT(message({"cat", "dog"}, {"0", "1"}), HasSubstr("b.pth:classes=FILE"));
}

}  // namespace
}  // namespace tributary
