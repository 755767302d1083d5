// Builds ONNX graphs and writes them without a protobuf library.
//
// An ONNX file is one protobuf message; we need some thirty of its field numbers (base/protobuf.h says why there is no
// library). The bytes are deterministic, and weights are written from where they are, without a copy.
#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "tributary/io/safetensors.h"

namespace tributary {

using OnnxAttribute = std::variant<int64_t, float, std::string, std::vector<int64_t>, std::vector<float>>;

// A fixed size, or the name of a dynamic one ("batch").
struct OnnxDimension {
  OnnxDimension(int64_t fixed) : size(fixed) {}               // NOLINT: a shape reads {"batch", 224, 224, 3}
  OnnxDimension(const char* free) : name(free) {}             // NOLINT
  OnnxDimension(std::string free) : name(std::move(free)) {}  // NOLINT
  int64_t size = 0;
  std::string name;  // empty if the size is fixed
};

// A graph of operators, added in topological order. Functions that add a value return its name for use by later nodes.
// Duplicate and unknown names are bugs of the caller and fail a TRIBUTARY_CHECK.
class OnnxGraph {
 public:
  explicit OnnxGraph(std::string name);

  std::string input(std::string name, DType dtype, std::vector<OnnxDimension> shape);

  // `bytes` are row-major and little endian. They are not copied and must outlive `write`.
  std::string constant(std::string name, DType dtype, std::vector<int64_t> shape, std::span<const uint8_t> bytes);

  // Small constants that are copied into the graph. Integers are int64 [n], as operators expect for shapes and axes.
  std::string floats(std::string name, std::vector<int64_t> shape, const std::vector<float>& values);
  std::string integers(std::string name, const std::vector<int64_t>& values);

  // Adds an operator with one output. An empty input is an omitted optional one. If `output` is empty, a name is made
  // from the operator and a number.
  std::string node(const std::string& op, const std::vector<std::string>& inputs,
                   const std::vector<std::pair<std::string, OnnxAttribute>>& attributes = {}, std::string output = "");

  // Declares a value as an output of the graph; outputs keep the order of the calls.
  void output(const std::string& name, DType dtype, const std::vector<OnnxDimension>& shape);

  // Adds a metadata property, such as the class names; properties keep the order of the calls.
  void metadata(std::string key, std::string value);

  // Writes the model atomically, with opset 13. Throws an InputError if the file would exceed protobuf's 2 GB, or if
  // metadata is not UTF-8.
  void write(const std::string& path) const;

 private:
  struct Constant {
    std::string head;                // the encoded tensor without its data
    std::vector<uint8_t> own;        // data of a small constant
    std::span<const uint8_t> bytes;  // data owned by the caller
    std::span<const uint8_t> data() const { return own.empty() ? bytes : std::span<const uint8_t>(own); }
  };

  std::string declared(std::string name);
  std::string own_constant(std::string name, DType dtype, std::vector<int64_t> shape, const void* values, size_t size);

  std::string name_;
  std::set<std::string> values_;
  std::set<std::string> results_;
  std::vector<std::pair<std::string, std::string>> metadata_;
  std::vector<Constant> constants_;
  std::string nodes_, inputs_, outputs_;  // encoded as fields of the graph
  size_t numbered_ = 0;                   // generated names so far
};

}  // namespace tributary
