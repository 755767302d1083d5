#include "tributary/model_io/import_weights.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>

#include "tests/support/models.h"
#include "tests/support/temp_dir.h"
#include "tests/support/tensors.h"
#include "tributary/base/error.h"
#include "tributary/io/pytorch_writer.h"
#include "tributary/io/weight_names.h"
#include "tributary/model_io/model_file.h"

namespace tributary {
namespace {

using test::message_of;
using test::TempDir;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

TEST(WeightNames, MapToOurNames) {
  const std::vector<std::pair<std::string, std::string>> table = {
      // torchvision's classifiers
      {"conv1.weight", "backbone.conv1.weight"},
      {"bn1.running_var", "backbone.bn1.running_var"},
      {"layer1.0.conv1.weight", "backbone.layer1.0.conv1.weight"},
      {"layer4.2.downsample.1.bias", "backbone.layer4.2.downsample.1.bias"},
      {"fc.weight", "classifier.weight"},
      {"fc.bias", "classifier.bias"},
      {"features.40.weight", "backbone.features.40.weight"},
      {"classifier.0.weight", "backbone.classifier.0.weight"},
      {"classifier.3.bias", "backbone.classifier.3.bias"},
      {"classifier.6.weight", "classifier.weight"},
      {"classifier.6.bias", "classifier.bias"},
      // the research scripts' F, B and C
      {"conv_params.9.running_mean", "backbone.conv_params.9.running_mean"},
      {"classifier.classifier0.weight", "backbone.classifier.0.weight"},
      {"classifier.classifier3.bias", "backbone.classifier.3.bias"},
      {"bottleneck.weight", "bottleneck.linear.weight"},
      {"bottleneck.bias", "bottleneck.linear.bias"},
      {"bn.weight", "bottleneck.bn.weight"},
      {"bn.num_batches_tracked", "bottleneck.bn.num_batches_tracked"},
      {"fc.weight_g", "classifier.weight_g"},
      {"fc.weight_v", "classifier.weight_v"},
      {"fc.parametrizations.weight.original0", "classifier.weight_g"},
      {"fc.parametrizations.weight.original1", "classifier.weight_v"},
      // our own
      {"backbone.layer1.0.conv1.weight", "backbone.layer1.0.conv1.weight"},
      {"backbone.classifier.0.weight", "backbone.classifier.0.weight"},
      {"bottleneck.linear.weight", "bottleneck.linear.weight"},
      {"bottleneck.bn.running_mean", "bottleneck.bn.running_mean"},
      {"classifier.weight", "classifier.weight"},
      {"classifier.weight_g", "classifier.weight_g"},
      {"classifier.bias", "classifier.bias"},
  };
  for (const auto& [theirs, ours] : table) EXPECT_EQ(our_name(theirs), ours);
  for (const auto& [theirs, ours] : table) EXPECT_EQ(our_name(ours), ours);
}

ShapeMap shapes_of(const NamedTensors& tensors) {
  ShapeMap shapes;
  for (const NamedTensor& tensor : tensors) shapes[tensor.name] = tensor.value.sizes().vec();
  return shapes;
}

TEST(WeightNames, DetectEveryArchitecture) {
  for (const std::string& name : architecture_names()) {
    if (!has_common_names(name)) continue;  // match_network.h recognises the others
    const Backbone backbone = make_backbone(name, FirstStride::kIn3x3, {});
    const TensorList list = backbone.network.tensors();
    ShapeMap alone;
    for (const NamedTensors* part : {&list.parameters, &list.buffers})
      for (const NamedTensor& tensor : *part) alone["backbone." + tensor.name] = tensor.value.sizes().vec();
    EXPECT_EQ(recognise(alone), name);
    ModelInfo info = test::small_info(name);
    EXPECT_EQ(recognise(shapes_of(SourceModel(info, Init()).state())), name) << "with a bottleneck";
    info.bottleneck = false;
    info.feature_width = backbone.width;
    info.classifier = ClassifierKind::kLinear;
    EXPECT_EQ(recognise(shapes_of(SourceModel(info, Init()).state())), name) << "with a plain classifier";
  }
}

TEST(WeightNames, DoNotDetectSimilarArchitectures) {
  const auto resnet50 = [] {
    const TensorList list = make_backbone("resnet50", FirstStride::kIn3x3, {}).network.tensors();
    ShapeMap shapes;
    for (const NamedTensor& tensor : list.parameters) shapes["backbone." + tensor.name] = tensor.value.sizes().vec();
    return shapes;
  };
  ShapeMap wide = resnet50();
  wide["backbone.layer1.0.conv2.weight"] = {96, 96, 3, 3};
  EXPECT_EQ(recognise(wide), "");
  ShapeMap deeper = resnet50();
  deeper["backbone.layer4.3.conv1.weight"] = {512, 2048, 1, 1};
  EXPECT_EQ(recognise(deeper), "");
  ShapeMap odd = resnet50();
  odd["backbone.layer1.0.conv2.weight"] = {};
  EXPECT_EQ(recognise(odd), "");
  EXPECT_EQ(recognise({{"backbone.features.0.weight", {64, 3, 11, 11}}}), "");  // AlexNet
  EXPECT_EQ(recognise({{"backbone.layer1.0.conv1.weight", {}}}), "");
  EXPECT_EQ(recognise({}), "");
}

// Tensors under the names of other programs.
using Named = NamedTensors;

Tensor& at(Named& tensors, const std::string& name) {
  for (NamedTensor& tensor : tensors)
    if (tensor.name == name) return tensor.value;
  throw std::logic_error("no tensor " + name);
}

void remove(Named& tensors, const std::string& name) {
  std::erase_if(tensors, [&](const NamedTensor& tensor) { return tensor.name == name; });
}

// The tensors of a model whose names start with one of `parts`, renamed as in torchvision and the research scripts.
Named theirs(const SourceModel& model,
             const std::vector<std::string>& parts = {"backbone.", "bottleneck.", "classifier."}) {
  const std::vector<std::pair<std::string, std::string>> prefixes = {
      {"backbone.", ""}, {"bottleneck.linear.", "bottleneck."}, {"bottleneck.bn.", "bn."}, {"classifier.", "fc."}};
  Named renamed;
  for (const NamedTensor& tensor : copy_of(model.state())) {
    if (std::none_of(parts.begin(), parts.end(), [&](const auto& part) { return tensor.name.starts_with(part); }))
      continue;
    for (const auto& [ours, other] : prefixes)
      if (tensor.name.starts_with(ours))
        renamed.push_back({other + tensor.name.substr(ours.size()), tensor.value.contiguous()});
  }
  return renamed;
}

std::vector<TensorEntry> entries_of(const Named& tensors) {
  static const std::map<torch::ScalarType, DType> kinds = {{torch::kFloat64, DType::F64}, {torch::kFloat32, DType::F32},
                                                           {torch::kFloat16, DType::F16}, {torch::kInt64, DType::I64},
                                                           {torch::kInt32, DType::I32},   {torch::kUInt8, DType::U8}};
  std::vector<TensorEntry> entries;
  for (const NamedTensor& tensor : tensors)
    entries.push_back({tensor.name,
                       kinds.at(tensor.value.scalar_type()),
                       tensor.value.sizes().vec(),
                       {static_cast<const uint8_t*>(tensor.value.data_ptr()), tensor.value.nbytes()}});
  return entries;
}

void write(const std::string& path, const Named& tensors, const SafetensorsMetadata& metadata = {}) {
  if (path.ends_with(".pt"))
    write_state_dict(path, entries_of(tensors));
  else
    write_safetensors(path, entries_of(tensors), metadata);
}

std::string error_of(const std::string& path, const ImportOptions& options = {}) {
  return message_of<InputError>([&] { load_source(path, options); });
}

// LeNet with a plain linear classifier and no bottleneck.
SourceModel plain_lenet(int64_t classes = 3) {
  ModelInfo info = test::small_info("lenet", classes, 1250);
  info.bottleneck = false;
  info.classifier = ClassifierKind::kLinear;
  return SourceModel(info, Random(1));
}

void expect_same_state(const SourceModel& a, const SourceModel& b) {
  const NamedTensors one = a.state(), other = b.state();
  ASSERT_EQ(one.size(), other.size());
  for (size_t i = 0; i < one.size(); ++i) {
    EXPECT_EQ(one[i].name, other[i].name);
    EXPECT_TRUE(torch::equal(one[i].value, other[i].value)) << one[i].name;
  }
}

TEST(WeightFile, ReadsAPlainClassifierFromBothFormats) {
  const TempDir folder;
  const SourceModel model = plain_lenet();
  for (const std::string name : {"site b.pt", "site b.safetensors"}) {
    write(folder / name, theirs(model));
    const SourceModel read = load_source(folder / name);
    expect_same_state(read, model);
    EXPECT_EQ(read.info().name, "site b");
    EXPECT_EQ(read.info().architecture, "lenet");
    EXPECT_FALSE(read.info().bottleneck);
    EXPECT_EQ(read.info().feature_width, 1250);
    EXPECT_THAT(read.info().classes, ElementsAre("0", "1", "2"));
    EXPECT_EQ(read.info().preprocessing, (Preprocessing{32, 32}));
  }
}

TEST(WeightFile, IgnoresThePrefixOfDataParallel) {
  const TempDir folder;
  const SourceModel model = plain_lenet();
  Named prefixed = theirs(model);
  for (NamedTensor& tensor : prefixed) tensor.name = "module." + tensor.name;
  for (const std::string name : {"a.pt", "a.safetensors"}) {
    write(folder / name, prefixed);
    expect_same_state(load_source(folder / name), model);
  }
}

// Writes a folder with the three files of a model with a bottleneck.
std::string write_triplet(const TempDir& folder, const std::string& name, const SourceModel& model) {
  folder.folder(name);
  write(folder / (name + "/source_F.pt"), theirs(model, {"backbone."}));
  write(folder / (name + "/source_B.pt"), theirs(model, {"bottleneck."}));
  write(folder / (name + "/source_C.pt"), theirs(model, {"classifier."}));
  return folder / name;
}

TEST(WeightFile, ReadsATripletFromItsFolder) {
  const TempDir folder;
  for (const std::string network : {"lenet", "dtn"}) {
    const SourceModel model(test::small_info(network, 4, 8), Random(1));
    const std::string path = write_triplet(folder, network, model);
    EXPECT_TRUE(is_triplet(path));
    for (const std::string& spelling : {path, path + "/"}) {
      const SourceModel read = load_source(spelling);
      expect_same_state(read, model);
      EXPECT_EQ(read.info().name, network);
      EXPECT_EQ(read.info().architecture, network);
      EXPECT_EQ(read.info().feature_width, 8);
    }
  }
}

TEST(WeightFile, TripletNeedsAllThreeFiles) {
  const TempDir folder;
  const SourceModel model(test::small_info("dtn", 4, 8), Random(1));
  for (const std::string missing : {"source_F.pt", "source_B.pt", "source_C.pt"}) {
    const std::string path = write_triplet(folder, "without " + missing, model);
    std::filesystem::remove(path + "/" + missing);
    EXPECT_THAT(error_of(path), HasSubstr(missing == "source_F.pt" ? path : path + "/" + missing));
  }
}

TEST(WeightFile, RejectsTheBackboneOfATriplet) {
  const TempDir folder;
  const SourceModel model(test::small_info("dtn", 4, 8), Random(1));
  const std::string path = write_triplet(folder, "dtn", model) + "/source_F.pt";
  EXPECT_THAT(error_of(path), AllOf(StartsWith(path), HasSubstr("has no classifier"),
                                    HasSubstr("source_F.pt, source_B.pt and source_C.pt")));
}

// One modification of valid weights, and the expected parts of the message beside the file name.
struct WeightChange {
  const char* name;
  std::function<void(Named&)> change;
  std::vector<std::string> expected;
};

TEST(WeightFile, RejectsEveryUnsuitableTensorByName) {
  const TempDir folder;
  const std::vector<WeightChange> changes = {
      {"tensor missing",
       [](Named& t) { remove(t, "conv1.bias"); },
       {"looks like lenet but has no backbone.conv1.bias;"}},
      {"bias of the classifier missing", [](Named& t) { remove(t, "fc.bias"); }, {"has no classifier.bias;"}},
      {"tensors left over",
       [](Named& t) {
         t.push_back({"aux.weight", torch::zeros({2})});
         t.push_back({"bottleneck.bias", torch::zeros({2})});
       },
       {"looks like lenet but also has aux.weight, bottleneck.bias;", "--ignore-extra"}},
      {"other shape",
       [](Named& t) {
         at(t, "conv2.weight") = torch::zeros({50, 20, 3, 3});
       },
       {"conv2.weight", "[50, 20, 3, 3]", "lenet needs [50, 20, 5, 5]"}},
      {"other rank", [](Named& t) { at(t, "conv1.bias") = torch::zeros({}); }, {"conv1.bias", "[]", "[20]"}},
      {"other feature width",
       [](Named& t) {
         at(t, "fc.weight") = torch::zeros({3, 512});
       },
       {"[3, 512]", "[3, 1250]"}},
      {"NaN", [](Named& t) { at(t, "conv1.weight")[0][0][0][0] = NAN; }, {"tensor conv1.weight has non-finite values"}},
      {"infinite", [](Named& t) { at(t, "fc.bias")[2] = -INFINITY; }, {"tensor fc.bias has non-finite values"}},
      {"beyond float32",
       [](Named& t) { at(t, "fc.bias") = torch::full({3}, 1e300, torch::kFloat64); },
       {"tensor fc.bias has non-finite values"}},
      {"integers",
       [](Named& t) {
         at(t, "conv1.weight") = torch::ones({20, 3, 5, 5}, torch::kInt64);
       },
       {"conv1.weight", "I64"}},
      {"bytes",
       [](Named& t) {
         at(t, "conv1.weight") = torch::ones({20, 3, 5, 5}, torch::kUInt8);
       },
       {"tensor conv1.weight has dtype U8, which weights cannot have"}},
      {"no classifier",
       [](Named& t) {
         remove(t, "fc.weight");
         remove(t, "fc.bias");
       },
       {"has no classifier (fc.weight"}},
      {"classifier of another rank", [](Named& t) { at(t, "fc.weight") = torch::zeros({3}); }, {"has no classifier"}},
      {"one class",
       [](Named& t) {
         at(t, "fc.weight") = torch::zeros({1, 1250});
         at(t, "fc.bias") = torch::zeros({1});
       },
       {"has one class; a classifier needs at least 2"}},
      {"two names for one",
       [](Named& t) {
         t.push_back({"classifier.weight", torch::zeros({3, 1250})});
       },
       {"classifier.weight", "fc.weight", "are the same parameter"}},
      {"huge bottleneck",
       [](Named& t) {
         t.push_back({"bottleneck.weight", torch::zeros({int64_t{1} << 40, 0})});
       },
       {"bottleneck.weight"}},
      {"unknown network",
       [](Named& t) {
         t = {{"stem.weight", torch::zeros({2})}};
       },
       {"its tensors (1) match no known architecture", "save the network as TorchScript, as tributary inspect "}},
      {"empty", [](Named& t) { t.clear(); }, {}},
  };
  for (const WeightChange& change : changes) {
    for (const std::string name : {"x.pt", "x.safetensors"}) {
      SCOPED_TRACE(std::string(change.name) + " in " + name);
      Named tensors = theirs(plain_lenet());
      change.change(tensors);
      write(folder / name, tensors);
      const std::string message = error_of(folder / name);
      EXPECT_THAT(message, HasSubstr(folder / name));
      for (const std::string& part : change.expected) EXPECT_THAT(message, HasSubstr(part));
    }
  }
}

TEST(WeightFile, IgnoresExtraTensorsOnRequest) {
  const TempDir folder;
  const SourceModel model = plain_lenet();
  Named tensors = theirs(model);
  tensors.push_back({"aux.weight", torch::full({2}, NAN)});
  write(folder / "x.pt", tensors);
  EXPECT_THAT(error_of(folder / "x.pt"), HasSubstr("aux.weight"));
  ImportOptions options;
  options.ignore_extra = true;
  expect_same_state(load_source(folder / "x.pt", options), model);
  const WeightFile weights = read_weights(folder / "x.pt", {});
  EXPECT_THAT(weights.left_over, ElementsAre("aux.weight"));
  EXPECT_THAT(weights.missing, IsEmpty());
}

TEST(WeightFile, CountersMayBeMissingOrOfAnyDtype) {
  const TempDir folder;
  const SourceModel model(test::small_info("dtn", 3, 8), Random(1));
  Named tensors = theirs(model);
  std::erase_if(tensors, [](const NamedTensor& tensor) { return tensor.name.ends_with("num_batches_tracked"); });
  ASSERT_LT(tensors.size(), theirs(model).size());
  write(folder / "old.pt", tensors);  // from before PyTorch 0.4
  expect_same_state(load_source(folder / "old.pt"), model);
  tensors = theirs(model);
  for (NamedTensor& tensor : tensors) tensor.value = tensor.value.to(torch::kFloat64);
  write(folder / "converted.pt", tensors);
  expect_same_state(load_source(folder / "converted.pt"), model);
}

TEST(WeightFile, ReadsClassNamesFromATextFile) {
  const TempDir folder;
  const std::string path = folder / "x.pt";
  write(path, theirs(plain_lenet(3)));
  const auto with = [&](const std::string& text) {
    ImportOptions options;
    options.classes = folder.write("classes.txt", text);
    return options;
  };
  const std::vector<std::string> names = {"back pack", "bike", "café"};
  for (const char* text : {"back pack\nbike\ncafé\n", "back pack\r\nbike\r\n\r\ncafé"})
    EXPECT_EQ(load_source(path, with(text)).info().classes, names);
  const std::string file = folder / "classes.txt";
  EXPECT_THAT(error_of(path, with("a\nb\n")),
              AllOf(StartsWith(file + " has 2 class names but " + path), HasSubstr("has 3 classes")));
  EXPECT_THAT(error_of(path, with("a\nb\nc\nd\n")), HasSubstr("has 4 class names"));
  EXPECT_THAT(error_of(path, with("")), HasSubstr("has 0 class names"));
  EXPECT_THAT(error_of(path, with("a\nb\na\n")), StartsWith(file + " has duplicate class names"));
  EXPECT_THAT(error_of(path, with("a\nb\ncaf\xe9\n")), HasSubstr("the class name 'caf?' is not UTF-8"));
  ImportOptions options;
  options.classes = folder / "none.txt";
  EXPECT_THAT(error_of(path, options), HasSubstr(options.classes));
}

// Options that are invalid for LeNet.
struct Wrong {
  const char* name;
  std::function<void(ImportOptions&)> change;
  const char* expected;
};

TEST(WeightFile, RejectsInvalidOptions) {
  const TempDir folder;
  write(folder / "x.pt", theirs(plain_lenet()));
  const std::vector<Wrong> table = {
      {"resize smaller", [](auto& o) { o.resize = 31; }, "--resize 31 is smaller than --size 32"},
      {"resize smaller than another size",
       [](auto& o) {
         o.size = 64;
         o.resize = 63;
       },
       "--resize 63 is smaller than --size 64"},
      {"two numbers", [](auto& o) { o.mean = "0.5,0.5"; }, "--mean: '0.5,0.5' is not three comma-separated numbers"},
      {"four numbers", [](auto& o) { o.mean = "0.5,0.5,0.5,0.5"; }, "--mean: '0.5,0.5,0.5,0.5' is not three"},
      {"five numbers", [](auto& o) { o.mean = "1,2,3,4,5"; }, "--mean: '1,2,3,4,5' is not three"},
      {"a comma too many", [](auto& o) { o.mean = "1,2,3,"; }, "--mean: '1,2,3,' is not three"},
      {"text", [](auto& o) { o.mean = "imagenet"; }, "--mean: 'imagenet' is not three"},
      {"text behind", [](auto& o) { o.mean = "1,2,3x"; }, "--mean: '1,2,3x' is not three"},
      {"semicolons", [](auto& o) { o.mean = "1;2;3"; }, "--mean: '1;2;3' is not three"},
      {"nothing between", [](auto& o) { o.mean = "1,,3"; }, "--mean: '1,,3' is not three"},
      {"not finite", [](auto& o) { o.mean = "1,nan,inf"; }, "--mean: '1,nan,inf' is not three"},
      {"two deviations", [](auto& o) { o.deviation = "1, 2"; }, "--std: '1, 2' is not three"},
      {"a mean of 0 to 255", [](auto& o) { o.mean = "124,116,104"; }, "--mean 124,116,104: pixels range from 0 to 1"},
      {"zero deviation", [](auto& o) { o.deviation = "1,0,1"; }, "--std 1,0,1: every channel needs at least 1e-06"},
      {"negative deviation", [](auto& o) { o.deviation = "1,1,-1"; }, "--std 1,1,-1"},
      {"unknown network", [](auto& o) { o.architecture = "alexnet"; },
       "no architecture 'alexnet'; choose one of: lenet, dtn,"},
      {"another network", [](auto& o) { o.architecture = "dtn"; }, "looks like dtn but has no backbone.conv_params.0."},
  };
  for (const Wrong& wrong : table) {
    ImportOptions options;
    wrong.change(options);
    EXPECT_THAT(error_of(folder / "x.pt", options), HasSubstr(wrong.expected)) << wrong.name;
  }
}

TEST(WeightFile, OptionsOverrideThePreprocessing) {
  ImportOptions options;
  options.size = 64;
  options.aspect = Aspect::kKeep;
  options.mean = "0.1, 0.2,0.3";
  options.deviation = "1,2e-1,.5";
  options.stride = StrideChoice::kIn1x1;
  ModelInfo info;
  apply_preprocessing(options, architecture("resnet50"), info);
  EXPECT_EQ(info.preprocessing, (Preprocessing{64, 73, true}));  // 8/7 of the size
  EXPECT_EQ(info.normalisation, (Normalisation{{0.1, 0.2, 0.3}, {1, 0.2, 0.5}}));
  EXPECT_EQ(info.first_stride, FirstStride::kIn1x1);
  options.resize = 64;
  apply_preprocessing(options, architecture("resnet50"), info);
  EXPECT_EQ(info.preprocessing, (Preprocessing{64, 64, true}));
  options = {};
  options.size = 1025;
  EXPECT_THAT(test::message_of<InputError>([&] { apply_preprocessing(options, architecture("resnet50"), info); }),
              HasSubstr("resnet50 takes pictures of at most 1024x1024, not 1025x1025"));
  options.size = 4000;
  apply_preprocessing(options, architecture(kTorchScript), info);
  EXPECT_EQ(info.preprocessing, (Preprocessing{4000, 4096}));  // the largest value that model files allow
  apply_preprocessing({}, architecture("resnet50"), info);
  EXPECT_EQ(info.preprocessing, (Preprocessing{224, 256}));
  EXPECT_EQ(info.normalisation, kImageNetNormalisation);
}

TEST(WeightFile, ReadsSafetensorsMetadata) {
  const TempDir folder;
  const std::string path = folder / "x.safetensors";
  const auto with = [&](const SafetensorsMetadata& metadata) {
    write(path, theirs(plain_lenet()), metadata);
    return path;
  };
  EXPECT_EQ(load_source(with({{"mean", "0,0,0"}, {"std", "1,1,1"}})).info().normalisation,
            (Normalisation{{0, 0, 0}, {1, 1, 1}}));
  const SafetensorsMetadata residual = {{"architecture", "resnet50"}, {"input_size", "49"}, {"stride", "1x1"}};
  const WeightFile weights = read_weights(with(residual), {});
  EXPECT_EQ(weights.info.architecture, "resnet50");
  EXPECT_EQ(weights.info.preprocessing, (Preprocessing{49, 56}));
  EXPECT_EQ(weights.info.first_stride, FirstStride::kIn1x1);
  ImportOptions options;  // options override metadata
  options.architecture = "resnet18";
  options.size = 42;
  options.stride = StrideChoice::kIn3x3;
  const WeightFile other = read_weights(path, options);
  EXPECT_EQ(other.info.architecture, "resnet18");
  EXPECT_EQ(other.info.preprocessing, (Preprocessing{42, 48}));
  EXPECT_EQ(other.info.first_stride, FirstStride::kIn3x3);
}

TEST(WeightFile, RejectsInvalidMetadata) {
  const TempDir folder;
  const std::string path = folder / "x.safetensors";
  const std::vector<std::pair<std::string, std::string>> table = {{"input_size", "large"},
                                                                  {"input_size", "0"},
                                                                  {"input_size", "-3"},
                                                                  {"input_size", "5000"},
                                                                  {"input_size", "1e2"},
                                                                  {"input_size", "99999999999999999999"},
                                                                  {"input_size", "3,224"},
                                                                  {"mean", "grey"},
                                                                  {"std", "1,2"},
                                                                  {"std", "1,0,1"},
                                                                  {"architecture", "timm/alexnet"}};
  for (const auto& [key, value] : table) {
    write(path, theirs(plain_lenet()), {{key, value}});
    EXPECT_THAT(error_of(path), AllOf(HasSubstr(path), HasSubstr(value))) << key;
  }
}

TEST(WeightFile, ImportsABackboneIntoAModelWithAnotherHead) {
  const TempDir folder;
  const SourceModel trained(test::small_info("dtn", 4, 8), Random(1));
  for (const NamedTensor& tensor : trained.state())
    if (tensor.name.ends_with("running_mean")) tensor.value.detach().uniform_(-1, 1);
  write(folder / "whole.pt", theirs(trained));
  write(folder / "headless.safetensors", theirs(trained, {"backbone."}));
  for (const std::string name : {"whole.pt", "headless.safetensors"}) {
    SourceModel model(test::small_info("dtn", 10, 32), Random(2));
    const NamedTensors before = copy_of(model.state());
    import_backbone(read_weights(folder / name, {}), folder / name, model);
    const NamedTensors after = model.state(), source = trained.state();
    ASSERT_EQ(after.size(), before.size());
    for (size_t i = 0; i < after.size(); ++i) {
      const bool backbone = after[i].name.starts_with("backbone.");
      EXPECT_TRUE(torch::equal(after[i].value, backbone ? source[i].value : before[i].value)) << after[i].name;
    }
  }
}

TEST(WeightFile, BackboneMustBeCompleteAndFinite) {
  const TempDir folder;
  const SourceModel trained(test::small_info("dtn", 4, 8), Random(1));
  SourceModel model(test::small_info("dtn", 10, 32), Random(2));
  const auto error_with = [&](const std::function<void(Named&)>& change) {
    Named tensors = theirs(trained);
    change(tensors);
    const std::string path = folder / "x.pt";
    write(path, tensors);
    return message_of<InputError>([&] { import_backbone(read_weights(path, {}), path, model); });
  };
  EXPECT_THAT(error_with([](Named& t) { remove(t, "conv_params.4.bias"); }),
              AllOf(HasSubstr(folder / "x.pt"), HasSubstr("backbone.conv_params.4.bias")));
  EXPECT_THAT(error_with([](Named& t) { at(t, "conv_params.4.bias")[0] = NAN; }), HasSubstr("conv_params.4.bias"));
  EXPECT_THAT(error_with([](Named& t) { at(t, "conv_params.4.bias") = torch::zeros({64}); }),
              AllOf(HasSubstr("[64]"), HasSubstr("[128]")));
  SourceModel other(test::small_info("lenet"), Random(2));
  EXPECT_THROW(import_backbone(read_weights(write_triplet(folder, "dtn", trained), {}), "dtn", other),
               std::logic_error);
}

TEST(ImportOptions, DeviationIsAnAliasOfStd) {
  OptionTable table;
  ImportOptions options;
  declare(table, options);
  table.read_toml_text("[model]\ndeviation = \"1,2,3\"\n", "old.toml");
  table.apply_toml();
  EXPECT_EQ(options.deviation, "1,2,3");
}

}  // namespace
}  // namespace tributary
