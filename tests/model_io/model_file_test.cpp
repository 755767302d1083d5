#include "tributary/model_io/model_file.h"

#include <gmock/gmock.h>

#include "tests/support/models.h"
#include "tests/support/temp_dir.h"
#include "tests/support/tensors.h"
#include "tributary/base/error.h"
#include "tributary/base/files.h"
#include "tributary/io/safetensors.h"

namespace tributary {
namespace {

using test::TempDir;

using test::message_of;

// Class k has the share k / 10.
Calibration calibration_of(int64_t classes) {
  Calibration calibration;
  calibration.count = 50;
  calibration.accuracy = 0.9;
  calibration.temperature = 1.5;
  calibration.threshold_confidence = 0.6;
  calibration.threshold_entropy = std::numeric_limits<double>::infinity();
  for (int64_t k = 0; k < classes; ++k) calibration.class_share.push_back(static_cast<double>(k) / 10);
  return calibration;
}

TEST(ModelFile, SourceRoundTrips) {
  TempDir folder;
  for (const std::string name : {"lenet", "dtn"}) {
    SourceModel model(test::small_info(name, 7, 64), Random(3));
    const std::string path = folder / (name + ".safetensors");
    save_source(path, model);
    const SourceModel read = load_source(path);
    EXPECT_EQ(read.info().classes, model.info().classes);
    EXPECT_EQ(read.info().feature_width, 64);
    const NamedTensors written = model.state();
    const NamedTensors back = read.state();
    ASSERT_EQ(written.size(), back.size());
    for (size_t i = 0; i < back.size(); ++i) EXPECT_TRUE(torch::equal(written[i].value, back[i].value)) << back[i].name;
  }
}

TEST(ModelFile, MixtureOfDifferentBackbonesAndWidthsRoundTrips) {
  TempDir folder;
  Ensemble ensemble;
  ensemble.sources.emplace_back(test::small_info("lenet", 4, 32), Random(1));
  ensemble.sources.emplace_back(test::small_info("dtn", 4, 48), Random(2));
  ensemble.mixture = {Combination::kWeightedLogits, torch::tensor({0.5f, 1.5f})};
  ensemble.mixture.temperature = 2.1;
  ensemble.sources[0].set_calibration(calibration_of(4));
  const std::string path = folder / "mixture.safetensors";
  save_ensemble(path, ensemble);
  const Ensemble read = load_ensemble(path);
  EXPECT_EQ(read.mixture.temperature, 2.1);
  EXPECT_FALSE(read.sources[0].info().calibration) << "of weights that may have been adapted since";
  EXPECT_EQ(read.size(), 2);
  EXPECT_EQ(read.joint_width(), 80);
  EXPECT_EQ(read.mixture.rule, Combination::kWeightedLogits);
  EXPECT_TENSOR_EQ(read.mixture.weights, ensemble.mixture.weights);
  EXPECT_THAT(message_of<InputError>([&] { load_source(path); }),
              ::testing::HasSubstr("is a mixture, not a single source"));
}

TEST(ModelFile, RejectsATemperatureOutOfRange) {
  TempDir folder;
  const std::string path = folder / "mixture.safetensors";
  Ensemble ensemble;
  ensemble.sources.emplace_back(test::small_info(), Random(1));
  save_ensemble(path, ensemble);
  const SafetensorsFile good = SafetensorsFile::read(path);
  EXPECT_EQ(good.metadata().count("temperature"), 0u) << "as in files of older versions";
  for (const std::string value : {"0", "-1", "1e9", "hot", "null"}) {
    SafetensorsMetadata metadata = good.metadata();
    metadata["temperature"] = value;
    write_safetensors(folder / "bad", good.entries(), metadata);
    EXPECT_THAT(message_of<InputError>([&] { load_ensemble(folder / "bad"); }),
                ::testing::HasSubstr("bad: its temperature is '" + value + "'"));
  }
}

TEST(ModelFile, CalibrationFollowsTheOrderOfTheClasses) {
  TempDir folder;
  ModelInfo info = test::small_info("lenet", 3);
  info.name = "first";
  save_source(folder / "first", SourceModel(info, Random(1)));
  std::reverse(info.classes.begin(), info.classes.end());
  info.name = "second";
  SourceModel second(info, Random(2));
  const Calibration calibration = calibration_of(3);
  second.set_calibration(calibration);
  save_source(folder / "second", second);
  EXPECT_EQ(load_source(folder / "second").info().calibration, calibration);
  const Ensemble read = load_sources({folder / "first", folder / "second"});
  EXPECT_FALSE(read.sources[0].info().calibration);
  EXPECT_THAT(read.sources[1].info().calibration->class_share, ::testing::ElementsAre(0.2, 0.1, 0));
}

TEST(ModelFile, CalibrationFollowsRenamedClassesAndEndsWithMergedOnes) {
  TempDir folder;
  SourceModel model(test::small_info("lenet", 3), Random(1));
  model.set_calibration(calibration_of(3));
  const std::vector<std::string> names = {"x", "a", "b", "c"};
  model.set_classes(names, {3, 1, 2});
  EXPECT_THAT(model.info().calibration->class_share, ::testing::ElementsAre(0, 0.1, 0.2, 0));
  model.set_classes({"a", "b"}, {0, 1, 1});
  EXPECT_FALSE(model.info().calibration) << "thresholds are those of single outputs";
  save_source(folder / "merged", model);
  EXPECT_EQ(load_source(folder / "merged").info().classes, (std::vector<std::string>{"a", "b"}));
}

TEST(ModelFile, SameModelGivesTheSameBytes) {
  TempDir folder;
  SourceModel model(test::small_info(), Random(3));
  save_source(folder / "a", model);
  save_source(folder / "b", model);
  EXPECT_EQ(read_file(folder / "a"), read_file(folder / "b"));
}

TEST(ModelFile, RejectsFilesThatAreNotModels) {
  TempDir folder;
  const std::string path = folder / "x.safetensors";
  EXPECT_THAT(message_of<InputError>([&] { load_source(path); }), ::testing::HasSubstr(path));
  write_file_atomically(path, "certainly not a model");
  EXPECT_THAT(message_of<InputError>([&] { load_source(path); }), ::testing::HasSubstr("not a safetensors file"));
  write_safetensors(path, {});
  EXPECT_THAT(message_of<InputError>([&] { load_source(path); }),
              ::testing::HasSubstr("its tensors (0) match no known architecture"));
}

TEST(ModelFile, RejectsNonFiniteWeights) {
  TempDir folder;
  SourceModel model(test::small_info(), Random(3));
  model.bottleneck_parameters()[0].value.detach()[0][0] = NAN;
  save_source(folder / "nan.safetensors", model);
  EXPECT_THAT(message_of<InputError>([&] { load_source(folder / "nan.safetensors"); }),
              ::testing::HasSubstr("bottleneck.linear.weight has non-finite values"));
}

// One modification of a valid source file.
struct Change {
  const char* name;
  std::function<void(std::vector<TensorEntry>&, SafetensorsMetadata&)> change;
  const char* expected;
};

TEST(ModelFile, RejectsEveryDamagedDescription) {
  TempDir folder;
  SourceModel model(test::small_info(), Random(3));
  save_source(folder / "good", model);
  const std::vector<Change> changes = {
      {"no format", [](auto&, auto& meta) { meta.erase("format"); }, "not a Tributary model"},
      {"other format", [](auto&, auto& meta) { meta["format"] = "tributary-9"; }, "has format 'tributary-9'"},
      {"no description", [](auto&, auto& meta) { meta.erase("model"); }, "no 'model'"},
      {"description is not JSON", [](auto&, auto& meta) { meta["model"] = "{"; }, "invalid model description"},
      {"one class",
       [](auto&, auto& meta) {
         ModelInfo info = test::small_info();
         info.classes = {"only"};
         meta["model"] = to_json(info);
       },
       "1 classes"},
      {"unknown architecture",
       [](auto&, auto& meta) {
         ModelInfo info = test::small_info();
         info.architecture = "alexnet";
         meta["model"] = to_json(info);
       },
       "no architecture 'alexnet'"},
      {"zero deviation",
       [](auto&, auto& meta) {
         ModelInfo info = test::small_info();
         info.normalisation.deviation[1] = 0;
         meta["model"] = to_json(info);
       },
       "normalisation"},
      {"a size that the network does not take",
       [](auto&, auto& meta) {
         ModelInfo info = test::small_info();
         info.preprocessing = {4096, 4096, /*keep_aspect=*/true};
         meta["model"] = to_json(info);
       },
       "bad: lenet takes pictures of 32x32"},
      {"a size that takes gigabytes",
       [](auto&, auto& meta) {
         ModelInfo info = test::small_info("resnet18");
         info.preprocessing = {1025, 1025};
         meta["model"] = to_json(info);
       },
       "bad: resnet18 takes pictures of at most 1024x1024, not 1025x1025"},
      {"a calibration of other classes",
       [](auto&, auto& meta) {
         ModelInfo info = test::small_info();
         info.calibration = calibration_of(3);
         meta["model"] = to_json(info);
       },
       "a calibration of other classes"},
      {"another class count", [](auto&, auto& meta) { meta["model"] = to_json(test::small_info("lenet", 11)); },
       "another shape"},
      {"tensor missing", [](auto& entries, auto&) { entries.pop_back(); }, "has no tensor"},
  };
  for (const Change& change : changes) {
    const SafetensorsFile good = SafetensorsFile::read(folder / "good");
    std::vector<TensorEntry> entries = good.entries();
    SafetensorsMetadata metadata = good.metadata();
    change.change(entries, metadata);
    write_safetensors(folder / "bad", entries, metadata);
    EXPECT_THAT(message_of<InputError>([&] { load_source(folder / "bad"); }), ::testing::HasSubstr(change.expected))
        << change.name;
  }
}

TEST(ModelFile, MixtureOfDifferentClassesRoundTrips) {
  TempDir folder;
  folder.write("renames", "2 = 1\n");
  ModelInfo renamed = test::small_info("lenet", 10, 32);
  renamed.classes[3] = "three";
  save_source(folder / "a", SourceModel(renamed, Random(1)));
  renamed.name = "b";
  renamed.classes = {"4", "1", "2"};
  save_source(folder / "b", SourceModel(renamed, Random(2)));
  std::vector<std::string> notices;
  Ensemble ensemble = load_sources({folder / "a", folder / "b:classes=" + (folder / "renames")}, {}, &notices);
  EXPECT_EQ(ensemble.classes(), (std::vector<std::string>{"0", "1", "2", "three", "4", "5", "6", "7", "8", "9"}));
  ASSERT_EQ(notices.size(), 1u);
  EXPECT_THAT(notices.front(), ::testing::EndsWith("b lacks 0, 2, three, 5, 6 and 3 more"));
  const std::string path = folder / "mixture";
  save_ensemble(path, ensemble);
  const Ensemble read = load_ensemble(path);
  EXPECT_EQ(read.classes(), ensemble.classes());
  EXPECT_TENSOR_EQ(read.known(), ensemble.known());
  const torch::NoGradGuard no_gradients;
  const Tensor phi = test::normals({4, 32}, 3);
  const auto logits = [&](const Ensemble& from) {
    return from.stacked({from.sources[0].classify(phi), from.sources[1].classify(phi)});
  };
  EXPECT_TENSOR_EQ(logits(read), logits(ensemble));
  EXPECT_TRUE(logits(read).isfinite().all().item<bool>());
}

TEST(ModelFile, RejectsOutputsOfNoClass) {
  TempDir folder;
  SourceModel model(test::small_info("lenet", 3, 16), Random(1));
  const auto message = [&](const std::string& outputs) {
    save_source(folder / "good", model);
    const SafetensorsFile good = SafetensorsFile::read(folder / "good");
    SafetensorsMetadata metadata = good.metadata();
    std::string& info = metadata.at("model");
    info.insert(info.rfind('}'), ",\"outputs\":" + outputs);
    write_safetensors(folder / "bad", good.entries(), metadata);
    return message_of<InputError>([&] { load_source(folder / "bad"); });
  };
  EXPECT_THAT(message("[0,1,3]"), ::testing::HasSubstr("an output of class 3 of 3"));
  EXPECT_THAT(message("[0,1,-1]"), ::testing::HasSubstr("not an integer in range"));
  EXPECT_THAT(message("[0,1,1]"), ::testing::HasSubstr("no output for one of its 3 classes"));
  EXPECT_THAT(message("[0,1,2,2]"), ::testing::HasSubstr("with 4 classes needs"));
  EXPECT_THAT(message("[0,1]"), ::testing::HasSubstr("with 2 classes needs"));
}

}  // namespace
}  // namespace tributary
