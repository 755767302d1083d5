// Checkpoints of other programs: wrapped ones that are read, and unknown ones that are refused with a way out.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <nlohmann/json.hpp>

#include "tests/support/forked_program.h"
#include "tests/support/models.h"
#include "tributary/io/pytorch_writer.h"

namespace tributary {
namespace {

using nlohmann::json;
using test::Outcome;
using test::run_forked_program;
using test::TempDir;
using ::testing::AllOf;
using ::testing::HasSubstr;

// Writes tensors as a PyTorch state dictionary.
void write_pth(const std::string& path, const NamedTensors& tensors) {
  std::vector<TensorEntry> entries;
  for (const NamedTensor& tensor : tensors)
    entries.push_back({tensor.name,
                       tensor.value.is_floating_point() ? DType::F32 : DType::I64,
                       tensor.value.sizes().vec(),
                       {static_cast<const uint8_t*>(tensor.value.data_ptr()), tensor.value.nbytes()}});
  write_state_dict(path, entries);
}

// LeNet with a plain linear classifier, its tensors named as `rename` gives them.
NamedTensors lenet(const std::function<std::string(const std::string&)>& rename) {
  ModelInfo info = test::small_info("lenet", 3, 1250);
  info.bottleneck = false;
  info.classifier = ClassifierKind::kLinear;
  NamedTensors tensors = copy_of(SourceModel(info, Random(1)).state());
  for (NamedTensor& tensor : tensors) {
    const bool head = tensor.name.starts_with("classifier.");
    tensor.value = tensor.value.contiguous();
    tensor.name = rename((head ? "fc." : "") + tensor.name.substr(tensor.name.find('.') + 1));
  }
  return tensors;
}

class ForeignWeights : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = new TempDir;
    const Outcome made = run_forked_program(*folder_, "data make digits digits --pictures 30 --test-pictures 10");
    ASSERT_EQ(made.code, 0) << made.err;
    write_pth(*folder_ / "plain.pth", lenet([](const std::string& name) { return name; }));
  }
  static void TearDownTestSuite() {
    delete folder_;
    folder_ = nullptr;
  }
  static std::string predictions_of(const std::string& file) {
    const Outcome outcome = run_forked_program(*folder_, "predict " + file + " --data digits/signs/test-images.idx");
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return outcome.out;
  }
  static Outcome inspect(const std::string& rest) { return run_forked_program(*folder_, "inspect " + rest); }
  static Outcome adapt(const std::string& file) {
    return run_forked_program(*folder_, "adapt --source " + file + " --target digits/signs/train-images.idx --run r");
  }

  static TempDir* folder_;
};

TempDir* ForeignWeights::folder_ = nullptr;

TEST_F(ForeignWeights, WrappersAndHeadsWithDropoutAreUnderstood) {
  const auto head_in_sequential = [](const std::string& name) {
    return name.starts_with("fc.") ? "fc.1." + name.substr(3) : name;
  };
  write_pth(*folder_ / "dropout.pth", lenet(head_in_sequential));
  // Lightning prefixes the network, but not the tensors of the loss.
  NamedTensors lightning = lenet([&](const std::string& name) { return "model." + head_in_sequential(name); });
  write_pth(*folder_ / "lightning.pth", lightning);
  lightning.push_back({"criterion.weight", torch::ones({3})});
  write_pth(*folder_ / "weighted.pth", lightning);
  write_pth(*folder_ / "compiled.pth", lenet([](const auto& name) { return "_orig_mod.module." + name; }));
  const std::string expected = predictions_of("plain.pth");
  for (const char* file : {"dropout.pth", "lightning.pth", "compiled.pth", "weighted.pth --ignore-extra"})
    EXPECT_EQ(predictions_of(file), expected) << file;
  EXPECT_THAT(run_forked_program(*folder_, "predict plain.pth --data digits/signs/test-images.idx").err,
              HasSubstr("plain.pth does not say how pictures are prepared; assumed "));
  EXPECT_THAT(inspect("weighted.pth").err, HasSubstr("looks like lenet but also has criterion.weight"));
}

TEST_F(ForeignWeights, InspectShowsTheWayForUnknownNetworks) {
  write_pth(*folder_ / "mobile.pth", {{"stem.weight", torch::zeros({8, 3, 3, 3})},
                                      {"neck.weight", torch::zeros({16, 8})},
                                      {"neck.bias", torch::zeros({16})},
                                      {"head.1.weight", torch::zeros({4, 16})},
                                      {"head.1.bias", torch::zeros({4})}});
  const Outcome refused = adapt("mobile.pth");
  EXPECT_EQ(refused.code, 2);
  EXPECT_THAT(refused.err, HasSubstr("its tensors (5) match no known architecture; save the network as TorchScript, as "
                                     "tributary inspect mobile.pth shows\n"));
  const Outcome shown = inspect("mobile.pth");
  EXPECT_EQ(shown.code, 2);
  EXPECT_THAT(shown.err, HasSubstr("match no known architecture"));
  EXPECT_THAT(shown.out, AllOf(HasSubstr("    net.load_state_dict(torch.load(\"mobile.pth\"))\n    net.eval()\n"
                                         "    torch.jit.script(net).save(\"mobile.pt\")\n"),
                               HasSubstr("tributary inspect mobile.pt --trust --last-layer head.1\n"),
                               HasSubstr("the last first: head.1, neck\n"), HasSubstr("docs/bring-your-own-model.md")));
  const json facts = json::parse(inspect("mobile.pth --json").out);
  EXPECT_EQ(facts.at("last_layer_candidates"), json({"head.1", "neck"}));
  EXPECT_TRUE(facts.contains("refused"));
}

TEST_F(ForeignWeights, InspectRefusesWhatAdaptRefuses) {
  NamedTensors grey = lenet([](const std::string& name) { return name; });
  for (NamedTensor& tensor : grey)
    if (tensor.name == "conv1.weight") tensor.value = torch::zeros({20, 1, 5, 5});
  write_pth(*folder_ / "grey.pth", grey);
  const Outcome adapted = run_forked_program(
      *folder_, "adapt --source grey.pth:architecture=lenet --target digits/signs/train-images.idx --run r");
  EXPECT_THAT(adapted.err,
              HasSubstr("grey.pth: the first layer takes 1 channel, but pictures have 3; widen it in Python: "
                        "state['conv1.weight'] = state['conv1.weight'].repeat(1, 3, 1, 1) / 3"));
  const Outcome shown = inspect("grey.pth --architecture lenet");
  EXPECT_EQ(shown.code, 2);
  EXPECT_THAT(shown.err, HasSubstr("the first layer takes 1 channel"));
  EXPECT_THAT(shown.out, HasSubstr("3 classes"));
  const Outcome plain = inspect("plain.pth");
  EXPECT_EQ(plain.code, 0);
  EXPECT_THAT(plain.out, ::testing::Not(HasSubstr("weight"))) << "there is no mixture";
  // The options of a source are understood as elsewhere.
  folder_->write("names.txt", "sun\nmoon\nstar\n");
  EXPECT_THAT(inspect("plain.pth:classes=names.txt").out, HasSubstr("3 classes (sun, moon, star)"));
  ASSERT_EQ(run_forked_program(*folder_, "export plain.pth:classes=names.txt --safetensors own.safetensors").code, 0);
  folder_->write("renames.txt", "sun = Sonne\n");
  EXPECT_THAT(inspect("own.safetensors:classes=renames.txt").out, HasSubstr("3 classes (Sonne, moon, star)"));
  EXPECT_THAT(inspect("plain.pth --last-layer fc").err,
              HasSubstr("--last-layer fc: only TorchScript needs it, and plain.pth is not TorchScript; leave it out"));
}

}  // namespace
}  // namespace tributary
