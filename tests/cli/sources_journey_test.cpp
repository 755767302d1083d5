// Sources from different origins: their names, classes in another order, and options of their own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/support/forked_program.h"
#include "tests/support/models.h"
#include "tributary/model_io/model_file.h"

namespace tributary {
namespace {

using nlohmann::json;
using test::file_text;
using test::Outcome;
using test::run_forked_program;
using test::run_program;
using test::TempDir;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

// Two trained sources, `up` with the classes 0 to 9 and `down` with 9 to 0, also as weights without class names.
class SourcesJourney : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = new TempDir;
    folder_->write("up.txt", "0\n1\n2\n3\n4\n5\n6\n7\n8\n9\n");
    folder_->write("down.txt", "9\n8\n7\n6\n5\n4\n3\n2\n1\n0\n");
    expect_success("data make digits data --pictures 100 --test-pictures 60 --format png");
    const std::string train = "train --architecture lenet --epochs 8 --threads 1 --data data/";
    expect_success(train + "signs/train --out up.safetensors");
    expect_success(train + "postal/train --classes down.txt --out down.safetensors");
    for (const char* name : {"up", "down"})
      expect_success(std::string("export ") + name + ".safetensors --state-dict " + name + ".pth");
  }
  static void TearDownTestSuite() {
    delete folder_;
    folder_ = nullptr;
  }
  static Outcome expect_success(const std::string& arguments) {
    Outcome outcome = run_forked_program(*folder_, arguments);
    EXPECT_EQ(outcome.code, 0) << arguments << "\n" << outcome.err;
    return outcome;
  }
  static double accuracy_of(const std::string& models, size_t source) {
    const Outcome outcome = expect_success("evaluate " + models + " --data data/postal/test --json");
    return json::parse(outcome.out).at("sources").at(source).at("accuracy");
  }

  static TempDir* folder_;
};

TempDir* SourcesJourney::folder_ = nullptr;

TEST_F(SourcesJourney, AreCalledAfterTheirDomainNotTheLastFolder) {
  std::filesystem::copy(*folder_ / "data/street/train", *folder_ / "train", std::filesystem::copy_options::recursive);
  expect_success("train --data train --architecture lenet --epochs 1 --out street.safetensors");
  const Outcome adapted = run_program(
      *folder_,
      "adapt --source up.safetensors down.safetensors street.safetensors --target data/textured/test --rounds 1 "
      "--inner-epochs 1 --weight-steps 20 --no-report --threads 1");
  ASSERT_EQ(adapted.code, 0) << adapted.err;
  EXPECT_THAT(adapted.out, HasSubstr(", 1 round, "));
  EXPECT_THAT(file_text(*folder_ / "runs/textured/predictions.csv"),
              StartsWith("path,class,confidence,agreement,signs,postal,street,check,error\n"));
  expect_success("export runs/textured --source postal --safetensors one.safetensors");
  EXPECT_THAT(expect_success("inspect one.safetensors").out, HasSubstr("postal"));

  // A model of three sources with one name, as earlier versions wrote it.
  Ensemble three = test::small_ensemble({"lenet", "lenet", "lenet"});
  save_ensemble(*folder_ / "three.safetensors", three);
  const Outcome refused = run_forked_program(*folder_, "export three.safetensors --source lenet --onnx x.onnx");
  EXPECT_EQ(refused.code, 2);
  EXPECT_THAT(refused.err, HasSubstr("has 3 sources of this name; choose one by number, among 0, 1, 2"));
  expect_success("export three.safetensors --source 1 --onnx x.onnx");
}

TEST_F(SourcesJourney, AFolderOfDomainsIsNotTakenForClassesSilently) {
  // data/handwriting, data/postal, ... all hold the folders train and test.
  const Outcome trained = expect_success("train --data data --architecture lenet --epochs 1 --out all.safetensors");
  EXPECT_THAT(trained.err, HasSubstr("the classes are the folders of data: handwriting, postal, signs, street, "
                                     "textured; if the classes are the folders inside them, as test, train, name one "
                                     "domain, as in --data data/handwriting\n"));
  EXPECT_THAT(expect_success("train --data data/postal/train --architecture lenet --epochs 1 --out p.safetensors").err,
              Not(HasSubstr("the classes are")));
}

TEST_F(SourcesJourney, ClassesInAnotherOrderAreReorderedByName) {
  const double alone = accuracy_of("down.safetensors", 0);
  EXPECT_GT(alone, 15) << "better than chance, so that another order would show";
  EXPECT_EQ(accuracy_of("up.pth:classes=up.txt down.pth:classes=down.txt", 1), alone);
  EXPECT_EQ(accuracy_of("up.safetensors down.safetensors", 1), alone);
  EXPECT_NE(accuracy_of("up.pth down.pth --classes up.txt", 1), alone) << "the wrong list";

  const std::string data = " --data data/postal/test";
  const Outcome own = expect_success("evaluate up.pth:classes=up.txt down.pth:classes=down.txt" + data);
  EXPECT_THAT(own.err, HasSubstr("tributary evaluate: reordered the classes of down.pth as in up.pth\n"));
  EXPECT_THAT(own.err, Not(HasSubstr("in the order of")));
  EXPECT_THAT(expect_success("evaluate up.pth down.pth --classes up.txt" + data).err,
              HasSubstr("up.pth, down.pth are assumed to have their classes in the order of up.txt"));
  EXPECT_THAT(expect_success("evaluate up.pth down.pth" + data).err,
              HasSubstr("the classes of up.pth, down.pth have no names"));
  EXPECT_THAT(expect_success("evaluate up.safetensors down.pth:classes=down.txt" + data).err,
              HasSubstr("tributary evaluate: reordered the classes of down.pth as in up.safetensors\n"));
}

TEST_F(SourcesJourney, ClassesOfAListHaveNames) {
  // The numbers of the list are positions in the list of names, which other sources have in another order.
  std::string list;
  for (const int digit : {0, 1})
    for (const auto& entry :
         std::filesystem::directory_iterator(*folder_ / ("data/signs/train/" + std::to_string(digit))))
      list += entry.path().string() + " " + std::to_string(digit) + "\n";
  folder_->write("list.txt", list);
  folder_->write("names.txt", "nought\none\n");
  expect_success("train --data list.txt --classes names.txt --architecture lenet --epochs 1 --out list.safetensors");
  EXPECT_EQ(json::parse(expect_success("inspect list.safetensors --json").out).at("classes"), json({"nought", "one"}));
  const Outcome few = run_forked_program(
      *folder_, "train --data list.txt --classes up.txt --architecture lenet --epochs 1 --out up-list.safetensors");
  EXPECT_EQ(few.code, 0) << "classes without pictures are known by name, too\n" << few.err;
}

TEST_F(SourcesJourney, ConfigurationHasATablePerSource) {
  folder_->write(
      "config.toml",
      "target = \"data/signs/test\"\n\n[[source]]\nfile = \"up.pth\"\nclasses = \"up.txt\"\n\n"
      "[[source]]\nfile = \"down.pth\"\nclasses = \"down.txt\"\nname = \"ward 7\"\nmean = \"0.5,0.5,0.5\"\n\n"
      "[adapt]\nmethod = \"source-ens\"\n");
  const Outcome adapted = expect_success("adapt --config config.toml --run runs/tables --no-report --threads 1");
  EXPECT_THAT(adapted.err, HasSubstr("reordered the classes of down.pth"));
  EXPECT_THAT(file_text(*folder_ / "runs/tables/predictions.csv"), HasSubstr(",up,ward 7,check,error\n"));
  const json summary = json::parse(file_text(*folder_ / "runs/tables/summary.json"));
  EXPECT_EQ(summary.at("sources").at(1).at("file"), "down.pth");
  // What the run records reads back as the same sources.
  EXPECT_THAT(expect_success("adapt --config runs/tables/config.toml --run runs/tables --threads 1").err,
              HasSubstr("already finished"));
  EXPECT_EQ(accuracy_of("runs/tables", 1), accuracy_of("down.safetensors", 0));
}

TEST_F(SourcesJourney, FinishedModelsAreNotOverwrittenUnasked) {
  const std::string before = file_text(*folder_ / "up.safetensors");
  const std::string train = "train --architecture lenet --threads 1 --data data/signs/train --out up.safetensors";
  const Outcome same = expect_success(train + " --epochs 8");
  EXPECT_THAT(same.err, HasSubstr("up.safetensors is already finished; train it again with --restart"));
  EXPECT_THAT(same.out, HasSubstr("lenet trained on 90 pictures of 10 classes"));
  EXPECT_EQ(run_forked_program(*folder_, train + " --epochs 2").code, 2);
  EXPECT_EQ(file_text(*folder_ / "up.safetensors"), before);
  expect_success(train + " --epochs 8 --restart");
  EXPECT_EQ(file_text(*folder_ / "up.safetensors"), before) << "trained again with the same seed";
}

}  // namespace
}  // namespace tributary
