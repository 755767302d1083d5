// ONNX files written without a protobuf library.
//
// An ONNX file is one protobuf message of which we need some thirty field numbers (base/protobuf.h says why no
// library). Written by hand the bytes come out the same every time, and the weights go from where they lie to the disk
// without a copy.
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

// A fixed size, or a name for one that is known only when the model runs ("batch").
struct OnnxDimension {
  OnnxDimension(int64_t fixed) : size(fixed) {}               // NOLINT: a shape reads {"batch", 224, 224, 3}
  OnnxDimension(const char* free) : name(free) {}             // NOLINT
  OnnxDimension(std::string free) : name(std::move(free)) {}  // NOLINT
  int64_t size = 0;
  std::string name;  // empty where the size is fixed
};

// A graph of operators that is built value by value, in an order in which it can run. Functions that make a value
// return its name, which is how later nodes refer to it. A name made twice, or used and never made, is our bug.
class OnnxGraph {
 public:
  explicit OnnxGraph(std::string name);

  std::string input(std::string name, DType dtype, std::vector<OnnxDimension> shape);

  // Row-major and little endian. The bytes are not copied and must outlive `write`.
  std::string constant(std::string name, DType dtype, std::vector<int64_t> shape, std::span<const uint8_t> bytes);

  // Small constants that the graph keeps itself; the integers are int64 [n], as operators want shapes and axes.
  std::string floats(std::string name, std::vector<int64_t> shape, const std::vector<float>& values);
  std::string integers(std::string name, const std::vector<int64_t>& values);

  // An operator of one output. An empty input stands for an optional one left out; an empty `output` asks for a name
  // made of the operator's and a number.
  std::string node(const std::string& op, const std::vector<std::string>& inputs,
                   const std::vector<std::pair<std::string, OnnxAttribute>>& attributes = {}, std::string output = "");

  // Makes the value of that name a result of the graph; results keep the order of the calls.
  void output(const std::string& name, DType dtype, const std::vector<OnnxDimension>& shape);

  // A pair for the reader of the file, such as the names of the classes; pairs keep the order of the calls.
  void metadata(std::string key, std::string value);

  // Writes opset 13 atomically. An InputError where the file would pass protobuf's 2 GB or a text is not UTF-8.
  void write(const std::string& path) const;

 private:
  struct Constant {
    std::string head;                // everything of the tensor but its bytes
    std::vector<uint8_t> own;        // those of a small constant
    std::span<const uint8_t> bytes;  // those that live elsewhere
    std::span<const uint8_t> data() const { return own.empty() ? bytes : std::span<const uint8_t>(own); }
  };

  std::string made(std::string name);
  std::string own_constant(std::string name, DType dtype, std::vector<int64_t> shape, const void* values, size_t size);

  std::string name_;
  std::set<std::string> values_;
  std::set<std::string> results_;
  std::vector<std::pair<std::string, std::string>> metadata_;
  std::vector<Constant> constants_;
  std::string nodes_, inputs_, outputs_;  // encoded as fields of the graph
  size_t numbered_ = 0;                   // names made up so far
};

}  // namespace tributary
