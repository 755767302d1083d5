// Runs every command of the deployment pages, from imported weights to an exported model, and checks that the exported
// model gives the same predictions in other runtimes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "tests/support/documentation.h"
#include "tests/support/forked_program.h"
#include "tests/support/models.h"
#include "tests/support/node.h"
#include "tributary/model_io/model_file.h"

namespace tributary {
namespace {

using test::file_text;
using test::Outcome;
using test::run_forked_program;
using test::shell_quoted;
using test::TempDir;
using ::testing::HasSubstr;

// Flags added to the commands of the pages so that they take seconds: small pictures and few steps.
const std::map<std::string, std::string> kQuickOptions = {
    {"adapt",
     " --size 64 --resize 73 --rounds 2 --inner-epochs 1 --weight-steps 50 --batch 8 --threads 1 --no-leave-dominated"},
    {"evaluate", ""},
    {"distill", " --epochs 1 --batch 8 --threads 1"},
};

struct Prediction {
  std::string name;
  double confidence;
};

// The lines "path,class,confidence,..." by path, without pictures that have no class.
std::map<std::string, Prediction> predictions_in(const std::string& csv) {
  std::map<std::string, Prediction> result;
  for (const std::string& line : test::lines_of(csv)) {
    const size_t first = line.find(','), second = line.find(',', first + 1);
    if (second == std::string::npos || second == first + 1 || line.starts_with("path,")) continue;
    result[line.substr(0, first)] = {line.substr(first + 1, second - first - 1), std::stod(line.substr(second + 1))};
  }
  return result;
}

class Deployment : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    const auto python = test::python_with("torchvision, numpy, PIL");
    if (!python) return;
    python_ = new std::string(*python);
    folder_ = new TempDir;
    ASSERT_TRUE(test::run_python(*python_, "tests/cli/deployment_checkpoints.py", {folder_->path()}));
    for (const char* file : {"classify.js", "resize.js"})
      std::filesystem::copy_file(TRIBUTARY_SOURCE_DIR "/examples/node/" + std::string(file), *folder_ / file);
    ModelInfo info = test::small_info("resnet18", 4, 32);
    info.name = "clinic";
    info.classes = {"bird", "pony", "cat", "shrub"};
    info.preprocessing.size = 64;
    info.preprocessing.resize = 73;
    save_source(*folder_ / "clinic.safetensors", SourceModel(info, Random(1)));
    folder_->write("renames.txt", "pony = horse\nshrub = tree\n");
  }
  static void TearDownTestSuite() {
    delete folder_;
    delete python_;
    folder_ = nullptr;
    python_ = nullptr;
  }

  // Runs every command of a page and returns the output of each.
  static std::map<std::string, std::string> run_page(const std::string& page) {
    std::map<std::string, std::string> printed;
    for (const test::CodeBlock& block : test::code_blocks(TRIBUTARY_SOURCE_DIR "/docs/" + page)) {
      if (block.language == "python") {
        const std::string name = test::lines_of(block.text).front().substr(2);
        folder_->write(name, block.text);
        continue;
      }
      for (const std::string& command : test::lines_of(block.text)) printed[command] = run_command(command);
    }
    return printed;
  }

  static std::string run_command(const std::string& command) {
    const std::string word = command.substr(0, command.find(' '));
    const std::string rest = command.substr(word.size() + 1);
    if (word == "tributary") {
      const auto quick = kQuickOptions.find(rest.substr(0, rest.find(' ')));
      std::string extra = quick == kQuickOptions.end() ? "" : quick->second;
      if (rest.starts_with("evaluate forward.pt")) extra = " --size 64";
      const Outcome outcome = run_forked_program(*folder_, rest + extra);
      EXPECT_EQ(outcome.code, 0) << command << "\n" << outcome.err;
      return outcome.out;
    }
    std::string program = shell_quoted(*python_);
    if (word == "node") {
      const auto node = test::node_with();
      if (!node) return {};
      program = node->command();
    } else {
      EXPECT_EQ(word, "python3") << command;
    }
    const std::string all = "cd " + shell_quoted(folder_->path()) + " && " + program + " " + rest + " > printed";
    EXPECT_EQ(std::system(all.c_str()), 0) << command;
    return file_text(*folder_ / "printed");
  }

  static void expect_same(const std::map<std::string, Prediction>& ours,
                          const std::map<std::string, Prediction>& theirs, size_t count) {
    EXPECT_EQ(theirs.size(), count);
    for (const auto& [path, prediction] : theirs) {
      ASSERT_TRUE(ours.contains(path)) << path;
      EXPECT_EQ(prediction.name, ours.at(path).name) << path;
      EXPECT_NEAR(prediction.confidence, ours.at(path).confidence, 1e-4) << path;
    }
  }

  static TempDir* folder_;
  static std::string* python_;
};

TempDir* Deployment::folder_ = nullptr;
std::string* Deployment::python_ = nullptr;

TEST_F(Deployment, ExportedModelPredictsTheSameInNodeAndPython) {
  if (python_ == nullptr) GTEST_SKIP() << "skipped: no python3-torchvision";
  std::map<std::string, std::string> printed = run_page("deployment.md");
  EXPECT_THAT(printed.at("tributary inspect hospital-a.pth"), HasSubstr("resnet18"));
  const std::string adapted = file_text(*folder_ / "predictions.csv");
  EXPECT_THAT(adapted, HasSubstr("path,class,confidence,agreement,hospital-a,hospital-b,hospital-c,check,error\n"));
  EXPECT_EQ(predictions_in(adapted).size(), 14u);
  EXPECT_THAT(printed.at("tributary distill runs/photos --test labelled"), HasSubstr("accuracy %"));
  const auto clinic = nlohmann::json::parse(file_text(*folder_ / "runs/clinic/summary.json")).at("known_by");
  EXPECT_EQ(clinic, nlohmann::json({{"bird", {"clinic"}}, {"dog", {"hospital-a"}}}));
  EXPECT_THAT(file_text(*folder_ / "runs/clinic/report.html"), HasSubstr("clinic alone knows it"));

  const Outcome predicted = run_forked_program(*folder_, "predict runs/photos/student.safetensors --data photos");
  const auto ours = predictions_in(predicted.out);
  ASSERT_EQ(ours.size(), 14u);
  expect_same(ours, predictions_in(printed.at("python3 classify.py photos/*.jpg")), 14);
  if (!test::node_with()) GTEST_SKIP() << test::kNoOnnxRuntime;
  expect_same(ours, predictions_in(printed.at("node classify.js photos.onnx photos.json photos/*.jpg")), 14);

  // The mixture itself, with the aspect kept.
  Outcome outcome = run_forked_program(*folder_,
                                       "export hospital-a.pth hospital-c.pth --size 64 --resize 70 --aspect keep "
                                       "--classes classes.txt --onnx both.onnx --card both.json");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  outcome = run_forked_program(*folder_,
                               "predict hospital-a.pth hospital-c.pth --size 64 --resize 70 --aspect keep "
                               "--classes classes.txt --data photos");
  expect_same(predictions_in(outcome.out),
              predictions_in(run_command("node classify.js both.onnx both.json photos/*.jpg")), 14);
}

TEST_F(Deployment, BringYourOwnModel) {
  if (python_ == nullptr) GTEST_SKIP() << "skipped: no python3-torchvision";
  std::map<std::string, std::string> printed = run_page("bring-your-own-model.md");
  EXPECT_THAT(printed.at("tributary inspect mobilenet.pt --trust"), HasSubstr("1280"));
  EXPECT_THAT(file_text(*folder_ / "mixed.csv"),
              HasSubstr("path,class,confidence,agreement,mobilenet,hospital-a,check,error"));
  // A report describes the model without loading its code.
  const Outcome report = run_forked_program(*folder_, "report runs/mixed --embedded-rounds 0 --out mixed.html");
  EXPECT_EQ(report.code, 0) << report.err;
  // The exported module, with the code of both sources, predicts the same as the mixture.
  folder_->write("predict.py",
                 "import numpy, sys, torch\nfrom PIL import Image, ImageOps\nmodel = torch.jit.load('mixed.pt')\n"
                 "for path in sys.argv[1:]:\n"
                 "    picture = ImageOps.exif_transpose(Image.open(path)).convert('RGB')\n"
                 "    picture = picture.resize((73, 73), Image.BILINEAR).crop((4, 4, 68, 68))\n"
                 "    confidence, best = model(torch.from_numpy(numpy.array(picture))[None])[0].max(0)\n"
                 "    print(path, model.classes[best], float(confidence), sep=',')\n");
  expect_same(predictions_in(file_text(*folder_ / "mixed.csv")),
              predictions_in(run_command("python3 predict.py photos/*.jpg")), 14);
}

TEST_F(Deployment, InspectPrintsPythonThatMakesASource) {
  if (python_ == nullptr) GTEST_SKIP() << "skipped: no python3-torchvision";
  folder_->write("save.py",
                 "import torch, torchvision\nnet = torchvision.models.shufflenet_v2_x0_5(num_classes=4)\n"
                 "torch.save({'state_dict': torch.nn.DataParallel(net).state_dict(), 'epoch': 3}, 'wrapped.pth')\n");
  run_command("python3 save.py");
  const Outcome shown = run_forked_program(*folder_, "inspect wrapped.pth");
  EXPECT_EQ(shown.code, 2);
  std::string script = "import torch, torchvision\nnet = torchvision.models.shufflenet_v2_x0_5(num_classes=4)\n", then;
  for (const std::string& line : test::lines_of(shown.out)) {
    if (line.starts_with("    ")) script += line.substr(4) + "\n";
    if (line.starts_with("Then: tributary ")) then = line.substr(16);
  }
  folder_->write("advice.py", script);
  run_command("python3 advice.py");
  const Outcome inspected = run_forked_program(*folder_, then);
  EXPECT_EQ(inspected.code, 0) << inspected.err;
  EXPECT_THAT(inspected.out, HasSubstr("The classes have no names; give a list of them with --classes FILE"));

  // With classes in another order, beside a ResNet; labels in folders that are spelled in another case.
  folder_->write("reversed.txt", "tree\nhorse\ndog\ncat\n");
  std::filesystem::create_directories(*folder_ / "capitals");
  for (const auto& entry : std::filesystem::directory_iterator(*folder_ / "labelled")) {
    std::string name = entry.path().filename().string();
    name[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(name[0])));
    std::filesystem::copy(entry.path(), *folder_ / ("capitals/" + name));
  }
  const Outcome evaluated = run_forked_program(
      *folder_,
      "evaluate hospital-a.pth:classes=classes.txt wrapped.pt:classes=reversed.txt,last-layer=fc --trust "
      "--size 64 --data capitals");
  EXPECT_EQ(evaluated.code, 0) << evaluated.err;
  EXPECT_THAT(evaluated.err, HasSubstr("reordered the classes of wrapped.pt as in hospital-a.pth"));
}

TEST_F(Deployment, LoadsTorchScriptOnlyWithTrust) {
  if (python_ == nullptr) GTEST_SKIP() << "skipped: no python3-torchvision";
  folder_->write("plain.py",
                 "import torch\nmodule = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(12288, 4))\n"
                 "torch.jit.script(module).save('plain.pt')\n"
                 "torch.jit.script(torch.nn.Sequential(module, torch.nn.ReLU())).save('followed.pt')\n"
                 "deep = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(12288, 8), torch.nn.Linear(8, 4))\n"
                 "torch.jit.script(deep).save('deep.pt')\n");
  run_command("python3 plain.py");
  const std::string rest = " --data photos --size 64 --resize 64 ";
  Outcome outcome = run_forked_program(*folder_, "predict plain.pt" + rest);
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("plain.pt is TorchScript, which is code; add --trust"));
  EXPECT_THAT(run_forked_program(*folder_, "inspect plain.pt").err, HasSubstr("add --trust to load it"));
  outcome = run_forked_program(*folder_, "predict plain.pt --trust" + rest);
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("has no methods 'features' and 'classify'"));
  outcome = run_forked_program(*folder_, "predict plain.pt --trust --last-layer nowhere" + rest);
  EXPECT_THAT(outcome.err, HasSubstr("has no layer 'nowhere'"));
  outcome = run_forked_program(*folder_, "predict plain.pt --trust --last-layer 0" + rest);
  EXPECT_THAT(outcome.err, HasSubstr("layer '0' has no two-dimensional weight"));
  outcome = run_forked_program(*folder_, "predict followed.pt --trust --last-layer 0.1" + rest);
  EXPECT_THAT(outcome.err, HasSubstr("the output is not that of the layer named with --last-layer"));
  outcome = run_forked_program(*folder_, "predict plain.pt --trust --last-layer 1 --data photos --size 100");
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("plain.pt: the module fails on two pictures of 100x100"));
  outcome = run_forked_program(*folder_, "predict plain.pt --trust --last-layer 1" + rest);
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(predictions_in(outcome.out).size(), 14u);

  // A TorchScript module inside a model file needs --trust as well.
  outcome = run_forked_program(
      *folder_, "export plain.pt --trust --last-layer 1 --size 64 --resize 64 --safetensors ours.safetensors");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  outcome = run_forked_program(*folder_, "predict ours.safetensors --data photos");
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("holds TorchScript (plain), which is code; add --trust"));
  EXPECT_EQ(run_forked_program(*folder_, "predict ours.safetensors --data photos --trust").out,
            run_forked_program(*folder_, "predict plain.pt --trust --last-layer 1" + rest).out);
  outcome = run_forked_program(*folder_, "bench speed --source ours.safetensors --trust --pictures 8 --batch 4");
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("there is no training to measure"));
  const std::string speed = "bench speed --source deep.pt:size=64,resize=64,last-layer=2 --pictures 8 --batch 4 --json";
  EXPECT_EQ(run_forked_program(*folder_, speed).code, 2);
  outcome = run_forked_program(*folder_, speed + " --steps 1 --trust");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("train_eager"));
  outcome = run_forked_program(*folder_, "export ours.safetensors --trust --onnx no.onnx");
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("cannot be exported to ONNX; distil"));
  EXPECT_FALSE(std::filesystem::exists(*folder_ / "no.onnx"));
}

TEST_F(Deployment, InspectListsMissingAndUnusedTensors) {
  if (python_ == nullptr) GTEST_SKIP() << "skipped: no python3-torchvision";
  folder_->write("parts.py",
                 "import torch\nstate = torch.load('hospital-a.pth')\nstate['se.weight'] = torch.zeros(2, 2)\n"
                 "del state['layer4.1.bn2.bias']\ntorch.save({'state_dict': state, 'epoch': 3}, 'parts.pth')\n"
                 "torch.save({'gru.weight': torch.zeros(2)}, 'strange.pth')\n");
  run_command("python3 parts.py");
  const auto facts = nlohmann::json::parse(run_forked_program(*folder_, "inspect parts.pth --json").out);
  EXPECT_EQ(facts.at("format"), "pytorch-zip");
  EXPECT_EQ(facts.at("sources")[0].at("architecture"), "resnet18");
  EXPECT_EQ(facts.at("sources")[0].at("feature_width"), 512);
  EXPECT_EQ(facts.at("sources")[0].at("parameters"), 11178564);
  EXPECT_EQ(facts.at("classes").size(), 4u);
  EXPECT_EQ(facts.at("missing"), nlohmann::json({"backbone.layer4.1.bn2.bias"}));
  EXPECT_EQ(facts.at("left_over"), nlohmann::json({"se.weight"}));
  EXPECT_EQ(facts.at("ignored"), nlohmann::json({"epoch"}));
  EXPECT_THAT(run_forked_program(*folder_, "inspect parts.pth").out, HasSubstr("left_over: se.weight"));
  EXPECT_THAT(run_forked_program(*folder_, "inspect strange.pth").err, HasSubstr("match no known architecture"));
  const Outcome refused = run_forked_program(*folder_, "adapt --source parts.pth --target photos --run runs/parts");
  EXPECT_EQ(refused.code, 2);
  EXPECT_THAT(refused.err, HasSubstr("parts.pth looks like resnet18 but has no backbone.layer4.1.bn2.bias"));
  EXPECT_FALSE(std::filesystem::exists(*folder_ / "runs/parts"));
}

TEST_F(Deployment, UnreadablePicturesAreListedAndSkipped) {
  if (python_ == nullptr) GTEST_SKIP() << "skipped: no python3-torchvision";
  folder_->write("some/bad.jpg", "not a picture");
  folder_->write("some/worse.png", "not one either");
  std::filesystem::copy_file(*folder_ / "photos/00.jpg", *folder_ / "some/good.jpg");
  const std::string command = "predict hospital-a.pth --size 64 --classes classes.txt --data some";
  Outcome outcome = run_forked_program(*folder_, command);
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("some/bad.jpg,,,,"));
  EXPECT_THAT(outcome.err, HasSubstr("tributary predict: skipped some/worse.png: "));
  EXPECT_EQ(predictions_in(outcome.out).size(), 1u);
  outcome = run_forked_program(*folder_, command + " --json");
  std::vector<nlohmann::json> lines;
  for (const std::string& line : test::lines_of(outcome.out)) lines.push_back(nlohmann::json::parse(line));
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_TRUE(lines[0].contains("confidence"));
  EXPECT_TRUE(lines[2].contains("error"));
}

TEST_F(Deployment, TrainingStartsFromImportedWeights) {
  if (python_ == nullptr) GTEST_SKIP() << "skipped: no python3-torchvision";
  const std::string command =
      "train --data labelled --init hospital-a.pth --size 64 --full --epochs 1 --batch 4 --threads 1";
  Outcome outcome = run_forked_program(*folder_, command + " --out trained.safetensors");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr(" % on 1 of them\n")) << "no validation pictures of their own";
  const auto facts = nlohmann::json::parse(run_forked_program(*folder_, "inspect trained.safetensors --json").out);
  EXPECT_EQ(facts.at("sources")[0].at("architecture"), "resnet18");
  EXPECT_EQ(facts.at("sources")[0].at("feature_width"), 256);
  EXPECT_EQ(facts.at("sources")[0].at("mean")[0], 0.485);
  EXPECT_EQ(facts.at("classes").size(), 4u);
  outcome = run_forked_program(*folder_, command + " --architecture resnet50 --out other.safetensors");
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("hospital-a.pth looks like resnet50 but has no backbone.layer1.0.conv3"));
}

}  // namespace
}  // namespace tributary
