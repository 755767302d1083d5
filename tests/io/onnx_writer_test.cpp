#include "tributary/io/onnx_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>

#include "tests/support/hex.h"
#include "tests/support/node.h"
#include "tests/support/temp_dir.h"
#include "tributary/base/error.h"
#include "tributary/base/files.h"

namespace tributary {
namespace {

using test::hex;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::FloatNear;
using ::testing::HasSubstr;
using ::testing::Pointwise;
using Numbers = std::vector<int64_t>;

// A length-delimited field of the wire format; the length takes one or two bytes.
std::string field(const std::string& tag, const std::string& content) {
  const size_t size = content.size();
  if (size < 128) return hex(tag) + static_cast<char>(size) + content;
  return hex(tag) + static_cast<char>(size % 128 + 128) + static_cast<char>(size / 128) + content;
}

template <typename Number>
std::vector<uint8_t> bytes_of(const std::vector<Number>& values) {
  std::vector<uint8_t> bytes(values.size() * sizeof(Number));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

// Runs `model` in ONNX Runtime; `dims` becomes the shape of the result.
std::vector<float> run(const test::Node& node, const std::string& model, const std::string& shape,
                       const std::string& type, const std::vector<uint8_t>& input, std::string& dims) {
  const test::TempDir folder;
  const std::string result = folder / "result";
  const auto printed =
      test::run_node(node, "tests/node/run_onnx.js", {model, shape, type, folder.write("input", input), result});
  if (!printed) return {};
  dims = *printed;
  const std::vector<uint8_t> bytes = read_file(result);
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

TEST(OnnxWriter, WritesTheProtobufWireFormat) {
  OnnxGraph graph("g");
  const std::string x = graph.input("x", DType::F32, {"n", 300});
  const std::string w = graph.integers("w", {-2});
  const std::string y = graph.node(
      "Op", {x, "", w},
      {{"i", -1}, {"f", 1.5F}, {"s", "hi"}, {"is", Numbers{INT64_MIN, 300}}, {"fs", std::vector<float>{0.5F}}}, "y");
  graph.output(y, DType::F32, {"n"});
  graph.metadata("classes", "[\"größe\"]");
  graph.metadata("", "v");
  const test::TempDir folder;
  graph.write(folder / "m.onnx");

  const std::string attributes =
      field("2a", field("0a", "i") + hex("18 ff ff ff ff ff ff ff ff ff 01 a0 01 02")) +
      field("2a", field("0a", "f") + hex("15 00 00 c0 3f a0 01 01")) +
      field("2a", field("0a", "s") + field("22", "hi") + hex("a0 01 03")) +
      field("2a", field("0a", "is") + hex("40 80 80 80 80 80 80 80 80 80 01 40 ac 02 a0 01 07")) +
      field("2a", field("0a", "fs") + hex("3d 00 00 00 3f a0 01 06"));
  const std::string node = field("0a", "x") + field("0a", "") + field("0a", "w") + field("12", "y") + field("1a", "y") +
                           field("22", "Op") + attributes;
  const std::string constant = hex("08 01 10 07") + field("42", "w") + field("4a", hex("fe ff ff ff ff ff ff ff"));
  const std::string free = field("0a", field("12", "n"));
  const auto value = [](const std::string& name, const std::string& shape) {
    return field("0a", name) + field("12", field("0a", hex("08 01") + field("12", shape)));
  };
  EXPECT_EQ(read_text(folder / "m.onnx"),
            hex("08 07") + field("12", "tributary") +
                field("3a", field("0a", node) + field("12", "g") + field("2a", constant) +
                                field("5a", value("x", free + field("0a", hex("08 ac 02")))) +
                                field("62", value("y", free))) +
                field("42", hex("10 0d")) + field("72", field("0a", "classes") + field("12", "[\"größe\"]")) +
                field("72", field("0a", "") + field("12", "v")));
}

TEST(OnnxWriter, RejectsInvalidGraphs) {
  OnnxGraph graph("g");
  graph.input("x", DType::F32, {2});
  EXPECT_THROW(graph.input("x", DType::F32, {2}), std::logic_error);
  EXPECT_THROW(graph.node("Relu", {"x"}, {}, "x"), std::logic_error);
  EXPECT_THROW(graph.node("Relu", {"unknown"}), std::logic_error);
  EXPECT_THROW(graph.floats("x", {1}, {1}), std::logic_error);
  EXPECT_THROW(graph.floats("short", {2}, {1}), std::logic_error);
  EXPECT_THROW(graph.floats("negative", {-1}, {1}), std::logic_error);
  EXPECT_THROW(graph.output("unknown", DType::F32, {2}), std::logic_error);
  const test::TempDir folder;
  EXPECT_THROW(graph.write(folder / "m.onnx"), std::logic_error);  // no output
  graph.node("Relu", {"x"}, {}, "Relu_1");
  const std::string fresh = graph.node("Relu", {"x"});
  EXPECT_NE(fresh, "Relu_1");
  graph.output(fresh, DType::F32, {2});
  EXPECT_THROW(graph.output(fresh, DType::F32, {2}), std::logic_error);
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(OnnxWriter, RejectsFilesAboveTwoGigabytesAndInvalidUtf8) {
  const test::TempDir folder;
  constexpr int64_t size = 0x7fffffff;  // the data alone just fits
  void* memory = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  OnnxGraph large("large");
  large.output(large.constant("w", DType::U8, {size}, {static_cast<const uint8_t*>(memory), size}), DType::U8, {size});
  EXPECT_THAT(test::message_of<InputError>([&] { large.write(folder / "m.onnx"); }),
              AllOf(HasSubstr("m.onnx: it would have 2,147,483,"), HasSubstr("limited to 2,147,483,647; distil")));
  ::munmap(memory, size);

  OnnxGraph named("named");
  named.output(named.input("x", DType::F32, {1}), DType::F32, {1});
  named.metadata("classes", "\xff");
  EXPECT_THAT(test::message_of<InputError>([&] { named.write(folder / "m.onnx"); }), HasSubstr("is not UTF-8"));
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

// A small image classifier and a reference implementation in plain loops.
struct Classifier {
  static constexpr size_t kFilters = 4, kClasses = 3;
  std::vector<float> filters = weights(kFilters * 27, 37);
  std::vector<float> filter_bias = weights(kFilters, 5);
  std::vector<float> head = weights(kClasses * kFilters, 11);
  std::vector<float> head_bias = weights(kClasses, 3);

  static std::vector<float> weights(size_t count, size_t step) {
    std::vector<float> values(count);
    for (size_t i = 0; i < count; ++i) values[i] = static_cast<float>(i * step % 17) / 8 - 1;
    return values;
  }

  // `pixels` are [batch, 5, 5, 3]; stride 2 and padding 1 yield 3 x 3 feature maps.
  std::vector<float> expected(const std::vector<uint8_t>& pixels) const {
    std::vector<float> all;
    for (size_t first = 0; first < pixels.size(); first += 75) {
      std::vector<double> logits(head_bias.begin(), head_bias.end());
      for (size_t f = 0; f < kFilters; ++f) {
        double mean = 0;
        for (size_t position = 0; position < 9; ++position) {
          double sum = filter_bias[f];
          for (size_t tap = 0; tap < 27; ++tap) {
            const size_t y = 2 * (position / 3) + tap % 9 / 3 - 1;  // wraps to a large value in the padding
            const size_t x = 2 * (position % 3) + tap % 3 - 1;
            if (y < 5 && x < 5) sum += filters[f * 27 + tap] * pixels[first + (y * 5 + x) * 3 + tap / 9] / 255.0;
          }
          mean += std::max(sum, 0.0) / 9;
        }
        for (size_t k = 0; k < kClasses; ++k) logits[k] += mean * head[k * kFilters + f];
      }
      double total = 0;
      for (double& logit : logits) total += logit = std::exp(logit);
      for (const double exponential : logits) all.push_back(static_cast<float>(exponential / total));
    }
    return all;
  }

  void write(const std::string& path) const {
    const auto filter_bytes = bytes_of(filters);
    const auto head_bytes = bytes_of(head);
    OnnxGraph graph("classifier");
    const auto w = graph.constant("filters", DType::F32, {kFilters, 3, 3, 3}, filter_bytes);
    const auto head_w = graph.constant("head", DType::F32, {kClasses, kFilters}, head_bytes);
    std::string x = graph.input("pixels", DType::U8, {"batch", 5, 5, 3});
    x = graph.node("Cast", {x}, {{"to", 1}});
    x = graph.node("Transpose", {x}, {{"perm", Numbers{0, 3, 1, 2}}});
    x = graph.node("Mul", {x, graph.floats("scale", {}, {1.0F / 255})});
    x = graph.node("Conv", {x, w, graph.floats("filter bias", {kFilters}, filter_bias)},
                   {{"pads", Numbers{1, 1, 1, 1}}, {"strides", Numbers{2, 2}}});
    x = graph.node("Relu", {x});
    x = graph.node("ReduceMean", {x}, {{"axes", Numbers{2, 3}}, {"keepdims", 0}});
    x = graph.node("Gemm", {x, head_w, graph.floats("head bias", {kClasses}, head_bias)}, {{"transB", 1}});
    graph.node("Softmax", {x}, {{"axis", -1}}, "probabilities");
    graph.output("probabilities", DType::F32, {"batch", kClasses});
    graph.metadata("classes", R"(["cup","größe","pen"])");
    graph.write(path);
  }
};

TEST(OnnxWriter, OnnxRuntimeMatchesTheReference) {
  const auto node = test::node_with("onnxruntime-node");
  if (!node) GTEST_SKIP() << test::kNoOnnxRuntime;
  const test::TempDir folder;
  const Classifier classifier;
  classifier.write(folder / "m.onnx");
  classifier.write(folder / "again.onnx");
  EXPECT_EQ(read_text(folder / "m.onnx"), read_text(folder / "again.onnx"));
  for (const size_t batch : {1, 3}) {
    std::vector<uint8_t> pixels(batch * 75);
    for (size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<uint8_t>(i * i * 31 + 7 * i);
    const std::string shape = std::to_string(batch) + "x5x5x3";
    std::string dims;
    EXPECT_THAT(run(*node, folder / "m.onnx", shape, "uint8", pixels, dims),
                Pointwise(FloatNear(1e-6F), classifier.expected(pixels)));
    EXPECT_EQ(dims, "[" + std::to_string(batch) + ",3]\n");
  }
}

TEST(OnnxWriter, OnnxRuntimeReadsConstantsOfEveryType) {
  const auto node = test::node_with("onnxruntime-node");
  if (!node) GTEST_SKIP() << test::kNoOnnxRuntime;
  const std::pair<const char*, std::string> threes[] = {{"F64", hex("00 00 00 00 00 00 08 40")},
                                                        {"F32", hex("00 00 40 40")},
                                                        {"F16", hex("00 42")},
                                                        {"BF16", hex("40 40")},
                                                        {"I64", hex("03 00 00 00 00 00 00 00")},
                                                        {"I32", hex("03 00 00 00")},
                                                        {"I16", hex("03 00")},
                                                        {"I8", hex("03")},
                                                        {"U8", hex("03")},
                                                        {"BOOL", hex("01")}};
  OnnxGraph graph("types");
  const std::string x = graph.input("x", DType::F32, {"n"});
  std::vector<std::string> sums;
  for (const auto& [type, bytes] : threes) {
    const std::span three(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
    const std::string constant = graph.constant(type, *dtype_named(type), {1}, three);
    sums.push_back(graph.node("Add", {x, graph.node("Cast", {constant}, {{"to", 1}})}));
  }
  const std::string all = graph.node("Concat", sums, {{"axis", 0}});
  graph.output(graph.node("Clip", {all, "", graph.floats("most", {}, {100})}), DType::F32, {"ten n"});
  const test::TempDir folder;
  graph.write(folder / "m.onnx");
  std::string dims;
  EXPECT_THAT(run(*node, folder / "m.onnx", "1", "float32", bytes_of<float>({0.5F}), dims),
              ElementsAre(3.5F, 3.5F, 3.5F, 3.5F, 3.5F, 3.5F, 3.5F, 3.5F, 3.5F, 1.5F));
  EXPECT_EQ(dims, "[10]\n");
}

}  // namespace
}  // namespace tributary
