// Imported weights give torchvision's logits.
//
// Debian's python3-torch and python3-torchvision write the weight files. Every logit must equal torchvision's on the
// same picture file, including its whole preprocessing, to 1e-4 of the largest.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <cstring>

#include "tests/support/python.h"
#include "tests/support/temp_dir.h"
#include "tests/support/tensors.h"
#include "tributary/base/error.h"
#include "tributary/base/files.h"
#include "tributary/data/load.h"
#include "tributary/model_io/model_file.h"
#include "tributary/train/evaluate.h"

namespace tributary {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr int64_t kClasses = 7;

// One weight file; torchvision_reference.py explains the values.
struct Row {
  std::string name;  // of its files
  std::string network = "resnet18";
  std::string form = "zip";
  std::string type = "float32";
  std::string wrapping{};
  std::string classifier = "plain";
  std::string stride = "3x3";
  int64_t size = 64, resize = 73;  // 0: the architecture's default
  Aspect aspect = Aspect::kStretch;
  std::string mean{}, deviation{};

  bool triplet() const { return form == "triplet"; }
  std::string file() const { return name + (triplet() ? "" : form == "safetensors" ? ".safetensors" : ".pt"); }
  std::string argument() const {
    return fmt::format(
        "name={};network={};form={};type={};wrapping={};classifier={};stride={};size={};resize={};aspect={};mean={};"
        "deviation={}",
        name, network, form, type, wrapping, classifier, stride, size, resize,
        aspect == Aspect::kKeep ? "keep" : "stretch", mean, deviation);
  }
  ImportOptions options() const {
    ImportOptions options;
    options.size = size;
    options.resize = resize;
    options.aspect = aspect;
    options.mean = mean;
    options.deviation = deviation;
    return options;
  }
  int64_t feature_width() const {
    if (triplet()) return 256;
    if (network.starts_with("vgg")) return 4096;
    return network == "resnet18" || network == "resnet34" ? 512 : 2048;
  }
};

// Weight files written by one run of Python.
struct Group {
  std::string name;
  std::vector<Row> rows;
};
void PrintTo(const Group& group, std::ostream* out) {
  *out << group.name;
}

// Large networks use half precision, to halve the file size.
Row half(const std::string& network, int64_t size = 64, int64_t resize = 73) {
  return {.name = network, .network = network, .type = "float16", .size = size, .resize = resize};
}

const std::vector<Group>& groups() {
  static const std::vector<Group> all = {
      {"FileFormats",
       {{.name = "zip"},
        {.name = "zip_float16", .type = "float16"},
        {.name = "zip_bfloat16", .type = "bfloat16"},
        {.name = "legacy", .form = "legacy"},
        {.name = "legacy_float16", .form = "legacy", .type = "float16"},
        {.name = "safetensors", .form = "safetensors"},
        {.name = "safetensors_bfloat16", .form = "safetensors", .type = "bfloat16"}}},
      {"Wrappings",
       {{.name = "module", .wrapping = "module"},
        {.name = "in_state_dict", .wrapping = "state_dict"},
        {.name = "in_model", .form = "legacy", .wrapping = "model"},
        {.name = "net", .wrapping = "net"}}},
      {"Preprocessing",
       {{.name = "own", .size = 0, .resize = 0},
        {.name = "own_keep", .size = 0, .resize = 0, .aspect = Aspect::kKeep},
        {.name = "resized_more", .size = 0, .resize = 301, .aspect = Aspect::kKeep},
        {.name = "even", .size = 64, .resize = 80},
        {.name = "odd", .size = 63, .resize = 80, .aspect = Aspect::kKeep},
        {.name = "uncropped", .size = 80, .resize = 80, .aspect = Aspect::kKeep},
        {.name = "halves", .mean = "0.5,0.5,0.5", .deviation = "0.5, 0.5, 0.5"},
        {.name = "other", .aspect = Aspect::kKeep, .mean = "0.1,0.7,-0.25", .deviation = "1,0.003921569,2.5e-1"}}},
      {"Triplets",
       {{.name = "weight_norm", .form = "triplet", .classifier = "weight_norm"},
        {.name = "parametrized", .form = "triplet", .classifier = "parametrized"},
        {.name = "plain", .form = "triplet"},
        {.name = "dtn", .network = "dtn", .form = "triplet", .classifier = "weight_norm", .size = 0, .resize = 0}}},
      {"VggTriplet",
       {{.name = "vgg16", .network = "vgg16", .form = "triplet", .classifier = "weight_norm", .size = 0, .resize = 0}}},
      {"StrideIn1x1",
       {{.name = "caffe", .network = "resnet50", .form = "safetensors", .type = "float16", .stride = "1x1"}}},
      {"Resnet34And50", {half("resnet34"), half("resnet50", 0, 0)}},
      {"Resnet101", {half("resnet101")}},
      {"Resnet152", {half("resnet152")}},
      {"Resnext50", {half("resnext50_32x4d", 0, 0)}},
      {"Resnext101", {half("resnext101_32x8d"), half("resnext101_64x4d")}},
      {"Vgg16", {half("vgg16")}},
      {"Vgg16Bn", {half("vgg16_bn")}},
      {"Vgg19", {half("vgg19")}},
      {"Vgg19Bn", {half("vgg19_bn")}},
  };
  return all;
}

// Float32 [pictures, classes], as written by the script.
Tensor expected_logits(const std::string& path) {
  const std::vector<uint8_t> bytes = read_file(path);
  const auto pictures = static_cast<int64_t>(bytes.size() / sizeof(float)) / kClasses;
  Tensor logits = torch::empty({pictures, kClasses}, torch::kFloat32);
  std::memcpy(logits.data_ptr(), bytes.data(), logits.nbytes());
  return logits;
}

void expect_same_logits(const Row& row, const test::TempDir& folder) {
  SCOPED_TRACE(row.argument());
  const std::string path = folder / row.file();
  ImportOptions options = row.options();
  if (!row.network.starts_with("vgg")) {  // those files are too large to be read twice
    options.classes = folder.write("eight.txt", "a\nb\nc\nd\ne\nf\ng\nh\n");
    EXPECT_THAT(test::message_of<InputError>([&] { load_source(path, options); }),
                AllOf(HasSubstr(options.classes + " has 8 class names but "), HasSubstr(path + " has 7 classes")));
  }
  options.classes = folder.write("seven.txt", "ant\nbee\r\ncat\n\ndog\neagle\nfox\nsnow goose");

  SourceModel source = load_source(path, options);
  EXPECT_EQ(source.info().name, row.name);
  EXPECT_EQ(source.info().architecture, row.network);
  EXPECT_EQ(source.info().feature_width, row.feature_width());
  EXPECT_EQ(source.info().bottleneck, row.triplet());
  EXPECT_THAT(source.info().classes, ::testing::ElementsAre("ant", "bee", "cat", "dog", "eagle", "fox", "snow goose"));
  EXPECT_EQ(source.info().classifier == ClassifierKind::kLinear, row.classifier == "plain");
  EXPECT_EQ(source.info().first_stride == FirstStride::kIn1x1, row.stride == "1x1");

  LoadOptions loading;
  loading.preprocessing = source.info().preprocessing;
  const DeviceImages images(load_images(folder / "pictures", loading), torch::kCPU);
  const Outputs outputs = evaluate(source, images);
  const Tensor expected = expected_logits(folder / (row.name + ".logits"));
  ASSERT_EQ(expected.size(0), 3);
  EXPECT_EQ(outputs.features.size(1), row.feature_width());
  const double largest = expected.abs().max().item<double>();
  EXPECT_TENSOR_NEAR(outputs.logits, expected, 1e-4 * largest);
}

class Torchvision : public ::testing::TestWithParam<Group> {};

TEST_P(Torchvision, LogitsMatch) {
  const std::optional<std::string> python = test::python_with("torchvision");
  if (!python) GTEST_SKIP() << "skipped: no python3-torchvision";
  const test::TempDir folder;
  std::vector<std::string> arguments = {folder.path()};
  for (const Row& row : GetParam().rows) arguments.push_back(row.argument());
  ASSERT_TRUE(test::run_python(*python, "tests/model_io/torchvision_reference.py", arguments));
  for (const Row& row : GetParam().rows) expect_same_logits(row, folder);
}

INSTANTIATE_TEST_SUITE_P(Of, Torchvision, ::testing::ValuesIn(groups()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace tributary
