// Ensembles of models and of score files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "tests/support/models.h"
#include "tests/support/temp_dir.h"
#include "tributary/base/error.h"
#include "tributary/model_io/model_file.h"

namespace tributary {
namespace {

using Names = std::vector<std::string>;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class LoadMembers : public ::testing::Test {
 protected:
  std::string model(const std::string& name, const Names& classes) const {
    ModelInfo info = test::small_info("lenet", static_cast<int64_t>(classes.size()));
    info.name = name;
    info.classes = classes;
    save_source(folder_ / (name + ".safetensors"), SourceModel(info, Random(1)));
    return folder_ / (name + ".safetensors");
  }
  std::string scores(const std::string& name, const Names& classes, const std::vector<float>& values) const {
    const auto columns = static_cast<int64_t>(classes.size());
    const auto rows = static_cast<int64_t>(values.size()) / columns;
    Names pictures;
    for (int64_t i = 0; i < rows; ++i) pictures.push_back(fmt::format("p{}.png", i));
    write_score_file({folder_ / name, pictures, classes, rows, columns, values});
    return folder_ / name;
  }
  Ensemble load(const Names& sources, const StudentOptions& student = {}, const ImportOptions& import = {}) {
    notices_.clear();
    return load_members(sources, student, import, &notices_);
  }
  std::string refused(const Names& sources, const StudentOptions& student = {}, const ImportOptions& import = {}) {
    return test::message_of<InputError>([&] { load(sources, student, import); });
  }

  test::TempDir folder_;
  Names notices_;
};

TEST_F(LoadMembers, ScoresFollowTheModelsAndTheirClassesAreMatchedByName) {
  const std::string site = scores("site.csv", {"Dog", "tree", "cat"}, {0.7F, 0.1F, 0.2F, 0, 0, 1});
  Ensemble ensemble = load({site, model("a", {"cat", "dog", "tree"})});
  ASSERT_EQ(ensemble.size(), 1);
  EXPECT_FALSE(ensemble.has_student);
  EXPECT_EQ(ensemble.classes(), (Names{"cat", "dog", "tree"}));
  EXPECT_THAT(ensemble.member_names(), ElementsAre("a", "site (scores)"));
  EXPECT_FALSE(ensemble.known().defined());
  ensemble.fixed[0].match_pictures({"there/p1.png", "there/p0.png"}, "there");
  const Tensor expected = torch::tensor({{1.0, 1e-6, 1e-6}, {0.2, 0.7, 0.1}}).log().to(torch::kFloat32);
  EXPECT_TRUE(torch::allclose(ensemble.fixed[0].logits, expected)) << ensemble.fixed[0].logits;
}

TEST_F(LoadMembers, AStudentJoinsWithoutModelsOrIfTheyLackClasses) {
  const std::string site = scores("site.csv", {"cat", "dog"}, {0.5F, 0.5F}),
                    other = scores("other.npz", {"dog", "tree"}, {0.5F, 0.5F});
  Ensemble boxes = load({site, other});
  EXPECT_TRUE(boxes.has_student);
  EXPECT_THAT(boxes.member_names(), ElementsAre("student", "site (scores)", "other (scores)"));
  EXPECT_EQ(boxes.classes(), (Names{"cat", "dog", "tree"}));
  EXPECT_EQ(boxes.sources[0].info().architecture, "lenet");
  EXPECT_THAT(notices_, ::testing::Contains(HasSubstr("a student (lenet, random weights) learns from the scores")));
  EXPECT_TRUE(
      torch::equal(boxes.known(), torch::tensor({{true, true, true}, {true, true, false}, {false, true, true}})));

  const std::string a = model("a", {"cat", "dog"});
  EXPECT_FALSE(load({a, site}).has_student);
  EXPECT_TRUE(load({a, other}).has_student) << "the model does not know trees";
  StudentOptions wanted;
  wanted.network = "dtn";
  EXPECT_EQ(load({a, site}, wanted).sources.back().info().architecture, "dtn");
}

TEST_F(LoadMembers, AStudentStartsFromTheBackboneOfGivenWeights) {
  const std::string a = model("a", {"cat", "dog"});
  StudentOptions options;
  options.init = a;
  options.seed = 7;
  const Ensemble ensemble = load({scores("site.csv", {"x", "y"}, {0.5F, 0.5F})}, options);
  const SourceModel source = load_source(a);
  const NamedTensors given = source.backbone_parameters(), own = ensemble.sources[0].backbone_parameters();
  for (size_t i = 0; i < given.size(); ++i) EXPECT_TRUE(torch::equal(given[i].value, own[i].value)) << given[i].name;
  EXPECT_EQ(ensemble.classes(), (Names{"x", "y"}));
}

TEST_F(LoadMembers, UnnamedColumnsTakeAList) {
  ScoreFile bare{folder_ / "bare.npy", {"p"}, {"x", "y", "z"}, 1, 3, {0.25F, 0.25F, 0.5F}};
  write_score_file(bare);
  std::filesystem::remove(folder_ / "bare.json");
  folder_.write("names.txt", "cat\ndog = cat\ntree\n");
  Ensemble ensemble = load({bare.path + ":classes=" + (folder_ / "names.txt") + ",name=bare"});
  EXPECT_EQ(ensemble.classes(), (Names{"cat", "tree"}));
  EXPECT_THAT(notices_, ::testing::Contains(HasSubstr("bare.npy names no pictures; the rows are taken in the order")));
  ensemble.fixed[0].match_pictures({"anything.png"}, "photos");
  EXPECT_NEAR(ensemble.fixed[0].logits[0][0].item<double>(), std::log(0.5), 1e-6) << "merged: 0.25 + 0.25";
}

TEST_F(LoadMembers, RefusesWhatHasNothingInCommon) {
  const std::string site = scores("site.csv", {"cat", "dog"}, {0.5F, 0.5F}),
                    far = scores("far.csv", {"sun", "moon"}, {0.5F, 0.5F}), a = model("a", {"cat", "dog"});
  EXPECT_THAT(refused({site, far}), HasSubstr("site.csv and " + far + " have no class in common; rename classes"));
  EXPECT_THAT(refused({far, a}), HasSubstr("a.safetensors and " + far + " have no class in common"));
  const std::string between = scores("between.csv", {"dog", "sun"}, {0.5F, 0.5F});
  EXPECT_EQ(load({a, far, between}).classes().size(), 4u) << "linked through a third source";
  EXPECT_THAT(refused({site, site}), HasSubstr("are both called 'site'"));
  StudentOptions photographs;
  photographs.network = "resnet18";
  EXPECT_THAT(refused({site}, photographs), HasSubstr("give it ImageNet weights with --init FILE"));
  EXPECT_THAT(refused({a}, photographs), HasSubstr("--student resnet18 is for a student of score files"));
  EXPECT_THAT(test::message_of<InputError>([&] {
                load_sources({site, a});
              }),
              HasSubstr("site.csv holds scores of pictures, not a model; only tributary adapt takes it"));
}

}  // namespace
}  // namespace tributary
