#include "tributary/io/onnx_writer.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <deque>
#include <type_traits>

#include "tributary/base/error.h"
#include "tributary/base/files.h"
#include "tributary/base/protobuf.h"
#include "tributary/base/text.h"

namespace tributary {
namespace {

using Message = ProtobufMessage;

static_assert(std::endian::native == std::endian::little, "constants are written as they are in memory");

constexpr uint64_t kMaxFileBytes = 0x7fffffff;  // protobuf sizes are signed 32-bit integers
constexpr int64_t kIrVersion = 7;               // matches opset 13
constexpr int64_t kOpset = 13;

// Field numbers of onnx.proto, by message.
enum ModelField { kModelIrVersion = 1, kModelProducer = 2, kModelGraph = 7, kModelOpset = 8, kModelMetadata = 14 };
enum OpsetField { kOpsetVersion = 2 };
enum PairField { kPairKey = 1, kPairValue = 2 };
enum GraphField { kGraphNode = 1, kGraphName = 2, kGraphInitializer = 5, kGraphInput = 11, kGraphOutput = 12 };
enum NodeField { kNodeInput = 1, kNodeOutput = 2, kNodeName = 3, kNodeOp = 4, kNodeAttribute = 5 };
enum AttributeField { kName = 1, kFloat = 2, kInt = 3, kString = 4, kFloats = 7, kInts = 8, kKind = 20 };
enum AttributeKind { kIsFloat = 1, kIsInt = 2, kIsString = 3, kIsFloats = 6, kIsInts = 7 };
enum TensorField { kTensorDims = 1, kTensorType = 2, kTensorName = 8, kTensorRaw = 9 };
enum ValueField { kValueName = 1, kValueType = 2 };
enum TypeField { kTypeTensor = 1, kTypeTensorElements = 1, kTypeTensorShape = 2 };
enum ShapeField { kShapeDim = 1, kShapeDimSize = 1, kShapeDimName = 2 };

// TensorProto.DataType of a dtype.
int64_t number_of(DType dtype) {
  constexpr std::pair<DType, int64_t> kNumbers[] = {
      {DType::F32, 1}, {DType::U8, 2},   {DType::I8, 3},   {DType::I16, 5},  {DType::I32, 6},
      {DType::I64, 7}, {DType::BOOL, 9}, {DType::F16, 10}, {DType::F64, 11}, {DType::BF16, 16}};
  for (const auto& [type, number] : kNumbers)
    if (type == dtype) return number;
  TRIBUTARY_CHECK(false, "no such type: {}", static_cast<int>(dtype));
}

Message value_info(const std::string& name, DType dtype, const std::vector<OnnxDimension>& shape) {
  Message dims;
  for (const OnnxDimension& extent : shape) {
    TRIBUTARY_CHECK(extent.size >= 0, "{} has an extent of {}", name, extent.size);
    dims.message(kShapeDim, extent.name.empty() ? Message().integer(kShapeDimSize, extent.size)
                                                : Message().text(kShapeDimName, extent.name));
  }
  const Message type = Message().integer(kTypeTensorElements, number_of(dtype)).message(kTypeTensorShape, dims);
  return Message().text(kValueName, name).message(kValueType, Message().message(kTypeTensor, type));
}

Message attribute_message(const std::string& name, const OnnxAttribute& content) {
  Message message = Message().text(kName, name);
  const auto append = [&message](const auto& held) {
    using Held = std::decay_t<decltype(held)>;
    if constexpr (std::is_same_v<Held, int64_t>) {
      message.integer(kInt, held).integer(kKind, kIsInt);
    } else if constexpr (std::is_same_v<Held, float>) {
      message.real(kFloat, held).integer(kKind, kIsFloat);
    } else if constexpr (std::is_same_v<Held, std::string>) {
      message.text(kString, held).integer(kKind, kIsString);
    } else if constexpr (std::is_same_v<Held, std::vector<int64_t>>) {
      for (const int64_t item : held) message.integer(kInts, item);
      message.integer(kKind, kIsInts);
    } else {
      for (const float item : held) message.real(kFloats, item);
      message.integer(kKind, kIsFloats);
    }
  };
  std::visit(append, content);
  return message;
}

void require_utf8(const std::string& text, const std::string& path) {
  if (!is_utf8(text)) input_error("cannot write {}: \"{}\" is not UTF-8; rename it", path, printable(text));
}

}  // namespace

OnnxGraph::OnnxGraph(std::string name) : name_(std::move(name)) {}

// Registers the name of a new value.
std::string OnnxGraph::declared(std::string name) {
  TRIBUTARY_CHECK(!name.empty(), "a value of {} has no name", name_);
  TRIBUTARY_CHECK(values_.insert(name).second, "two values are named {}", name);
  return name;
}

std::string OnnxGraph::input(std::string name, DType dtype, std::vector<OnnxDimension> shape) {
  inputs_ += Message().message(kGraphInput, value_info(name, dtype, shape)).take();
  return declared(std::move(name));
}

std::string OnnxGraph::constant(std::string name, DType dtype, std::vector<int64_t> shape,
                                std::span<const uint8_t> bytes) {
  uint64_t size = size_of(dtype);
  Message head;
  for (const int64_t extent : shape) {
    TRIBUTARY_CHECK(extent >= 0 && !__builtin_mul_overflow(size, static_cast<uint64_t>(extent), &size),
                    "{} has the shape [{}]", name, fmt::join(shape, ", "));
    head.integer(kTensorDims, extent);
  }
  TRIBUTARY_CHECK(size == bytes.size(), "{} is {} [{}] but has {} bytes", name, name_of(dtype), fmt::join(shape, ", "),
                  bytes.size());
  head.integer(kTensorType, number_of(dtype)).text(kTensorName, name).length_prefix(kTensorRaw, bytes.size());
  constants_.push_back({head.take(), {}, bytes});
  return declared(std::move(name));
}

std::string OnnxGraph::own_constant(std::string name, DType dtype, std::vector<int64_t> shape, const void* values,
                                    size_t size) {
  std::vector<uint8_t> bytes(size);
  if (size > 0) std::memcpy(bytes.data(), values, size);
  std::string value = constant(std::move(name), dtype, std::move(shape), bytes);
  constants_.back().own = std::move(bytes);
  constants_.back().bytes = {};
  return value;
}

std::string OnnxGraph::floats(std::string name, std::vector<int64_t> shape, const std::vector<float>& values) {
  return own_constant(std::move(name), DType::F32, std::move(shape), values.data(), values.size() * sizeof(float));
}

std::string OnnxGraph::integers(std::string name, const std::vector<int64_t>& values) {
  return own_constant(std::move(name), DType::I64, {static_cast<int64_t>(values.size())}, values.data(),
                      values.size() * sizeof(int64_t));
}

std::string OnnxGraph::node(const std::string& op, const std::vector<std::string>& inputs,
                            const std::vector<std::pair<std::string, OnnxAttribute>>& attributes, std::string output) {
  if (output.empty()) {
    do output = fmt::format("{}_{}", op, ++numbered_);
    while (values_.contains(output));
  }
  Message message;
  for (const std::string& input : inputs) {
    TRIBUTARY_CHECK(input.empty() || values_.contains(input), "{} needs the unknown value {}", output, input);
    message.text(kNodeInput, input);
  }
  message.text(kNodeOutput, output).text(kNodeName, output).text(kNodeOp, op);
  for (const auto& [name, content] : attributes) message.message(kNodeAttribute, attribute_message(name, content));
  nodes_ += Message().message(kGraphNode, message).take();
  return declared(std::move(output));
}

void OnnxGraph::output(const std::string& name, DType dtype, const std::vector<OnnxDimension>& shape) {
  TRIBUTARY_CHECK(values_.contains(name), "the output {} is an unknown value", name);
  TRIBUTARY_CHECK(results_.insert(name).second, "the output {} is declared twice", name);
  outputs_ += Message().message(kGraphOutput, value_info(name, dtype, shape)).take();
}

void OnnxGraph::metadata(std::string key, std::string value) {
  metadata_.emplace_back(std::move(key), std::move(value));
}

void OnnxGraph::write(const std::string& path) const {
  TRIBUTARY_CHECK(!results_.empty(), "{} has no output", name_);
  const std::string name = Message().text(kGraphName, name_).take();
  std::deque<std::string> heads;  // encoded constants without data; a deque keeps their addresses
  std::vector<std::span<const uint8_t>> chunks{{}, bytes_of(nodes_), bytes_of(name)};
  for (const Constant& constant : constants_) {
    const uint64_t size = constant.head.size() + constant.data().size();
    heads.push_back(Message().length_prefix(kGraphInitializer, size).take() + constant.head);
    chunks.push_back(bytes_of(heads.back()));
    chunks.push_back(constant.data());
  }
  chunks.push_back(bytes_of(inputs_));
  chunks.push_back(bytes_of(outputs_));
  const auto total = [&chunks]() {
    uint64_t size = 0;
    for (const std::span<const uint8_t> chunk : chunks) size += chunk.size();
    return size;
  };

  Message start;
  start.integer(kModelIrVersion, kIrVersion).text(kModelProducer, "tributary").length_prefix(kModelGraph, total());
  const std::string before = start.take();
  Message end = Message().message(kModelOpset, Message().integer(kOpsetVersion, kOpset));
  for (const auto& [key, value] : metadata_) {
    require_utf8(key, path);
    require_utf8(value, path);
    end.message(kModelMetadata, Message().text(kPairKey, key).text(kPairValue, value));
  }
  const std::string after = end.take();
  chunks.front() = bytes_of(before);
  chunks.push_back(bytes_of(after));
  if (total() > kMaxFileBytes)
    input_error(
        "cannot write {}: it would have {} bytes, but ONNX files are limited to {}; distil the models into one "
        "student first, or export another format",
        path, thousands(static_cast<int64_t>(total())), thousands(kMaxFileBytes));
  write_file_atomically(path, chunks);
}

}  // namespace tributary
