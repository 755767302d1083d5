// Export to ONNX: translates a model layer by layer into an ONNX graph.
#include <nlohmann/json.hpp>

#include "tributary/base/error.h"
#include "tributary/base/json_text.h"
#include "tributary/io/onnx_writer.h"
#include "tributary/model/layered_source.h"
#include "tributary/model_io/export.h"

namespace tributary {
namespace {

using Ints = std::vector<int64_t>;

// A value of the graph and the height and width of its feature map.
struct Value {
  std::string name;
  int64_t side = 0;
};

// Translates a model layer by layer. Owns the tensors that the graph's constants point to.
class OnnxTranslator {
 public:
  explicit OnnxTranslator(const std::string& name) : graph(name) {}

  std::string constant(const std::string& name, const Tensor& tensor) {
    constants_.push_back(tensor.detach().to(torch::kCPU, torch::kFloat32).contiguous());
    const Tensor& own = constants_.back();
    return graph.constant(name, DType::F32, own.sizes().vec(),
                          {static_cast<const uint8_t*>(own.data_ptr()), own.nbytes()});
  }

  // Returns the last value of `network` for the input `x`.
  Value translate(const Network& network, const Value& x, const std::string& prefix) {
    std::vector<Value> values = {x};
    for (const Layer& layer : network.layers()) {
      const Value& input = values[layer.inputs.front()];
      const std::string name = prefix + layer.name;
      values.push_back(
          std::visit([&](const auto& kind) { return node(kind, input, name, layer, values); }, layer.kind));
    }
    return values.back();
  }

  OnnxGraph graph;

 private:
  Value node(const Conv2d& conv, const Value& x, const std::string& name, const Layer&, const std::vector<Value>&) {
    const int64_t kernel = conv.weight.size(2);
    std::vector<std::string> inputs = {x.name, constant(name + ".weight", conv.weight)};
    if (conv.bias.defined()) inputs.push_back(constant(name + ".bias", conv.bias));
    return {graph.node("Conv", inputs,
                       {{"kernel_shape", Ints{kernel, kernel}},
                        {"strides", Ints{conv.stride, conv.stride}},
                        {"pads", Ints(4, conv.padding)},
                        {"group", conv.groups}}),
            reduced(x.side, kernel, conv.stride, conv.padding)};
  }

  Value node(const BatchNorm& bn, const Value& x, const std::string& name, const Layer&, const std::vector<Value>&) {
    return {
        graph.node("BatchNormalization",
                   {x.name, constant(name + ".weight", bn.weight), constant(name + ".bias", bn.bias),
                    constant(name + ".running_mean", bn.running_mean), constant(name + ".running_var", bn.running_var)},
                   {{"epsilon", static_cast<float>(kBatchNormEpsilon)}}),
        x.side};
  }

  Value node(const Linear& linear, const Value& x, const std::string& name, const Layer&, const std::vector<Value>&) {
    return {affine(x.name, {linear.weight, linear.bias}, name)};
  }

  Value node(const Relu&, const Value& x, const std::string&, const Layer&, const std::vector<Value>&) {
    return {graph.node("Relu", {x.name}), x.side};
  }

  Value node(const MaxPool& pool, const Value& x, const std::string&, const Layer&, const std::vector<Value>&) {
    return {graph.node("MaxPool", {x.name},
                       {{"kernel_shape", Ints{pool.kernel, pool.kernel}},
                        {"strides", Ints{pool.stride, pool.stride}},
                        {"pads", Ints(4, pool.padding)}}),
            reduced(x.side, pool.kernel, pool.stride, pool.padding)};
  }

  // ONNX has no adaptive average pooling; express it as a matrix product along each dimension.
  Value node(const AveragePool& pool, const Value& x, const std::string&, const Layer&, const std::vector<Value>&) {
    if (pool.size == 1) return {graph.node("GlobalAveragePool", {x.name}), 1};
    if (pool.size == x.side) return x;
    const Tensor columns = at::adaptive_avg_pool1d(torch::eye(x.side).unsqueeze(0), {pool.size})[0];  // [side, size]
    const std::string right = constant(x.name + ".columns", columns);
    const std::string left = constant(x.name + ".rows", columns.t());
    return {graph.node("MatMul", {left, graph.node("MatMul", {x.name, right})}), pool.size};
  }

  Value node(const Add&, const Value& x, const std::string&, const Layer& layer, const std::vector<Value>& values) {
    return {graph.node("Add", {x.name, values[layer.inputs[1]].name}), x.side};
  }

  Value node(const Flatten&, const Value& x, const std::string&, const Layer&, const std::vector<Value>&) {
    return {graph.node("Flatten", {x.name}, {{"axis", 1}})};
  }

  Value node(const Dropout&, const Value& x, const std::string&, const Layer&, const std::vector<Value>&) { return x; }

  static int64_t reduced(int64_t side, int64_t kernel, int64_t stride, int64_t padding) {
    return (side + 2 * padding - kernel) / stride + 1;
  }

 public:
  std::string affine(const std::string& x, const Affine& map, const std::string& name) {
    return graph.node("Gemm", {x, constant(name + ".weight", map.weight), constant(name + ".bias", map.bias)},
                      {{"transB", 1}});
  }

 private:
  std::vector<Tensor> constants_;
};

// Applies the mixture's rule (mixture.h) to the sources' logits.
std::string combined(OnnxGraph& graph, const std::vector<std::string>& logits, const Mixture& mixture,
                     int64_t classes) {
  const auto softmax = [&](const std::string& x) { return graph.node("Softmax", {x}, {{"axis", 1}}); };
  const auto each = [&](const auto& function) {
    std::vector<std::string> results;
    for (size_t j = 0; j < logits.size(); ++j) results.push_back(function(j));
    return results;
  };
  const auto probabilities = [&] { return each([&](size_t j) { return softmax(logits[j]); }); };
  const auto weighted = [&](const std::vector<std::string>& parts) {
    const Tensor weights = mixture.weights.to(torch::kCPU, torch::kFloat32).contiguous();
    return graph.node("Sum", each([&](size_t j) {
                        const std::string name = "weight." + std::to_string(j);
                        return graph.node("Mul", {parts[j], graph.floats(name, {}, {weights.data_ptr<float>()[j]})});
                      }));
  };
  switch (mixture.rule) {
    case Combination::kMeanProbability:
      return graph.node("Mean", probabilities());
    case Combination::kMeanLogit:
      return softmax(graph.node("Mean", logits));
    case Combination::kWeightedLogits:
      return softmax(weighted(logits));
    case Combination::kWeightedProbabilities:
      return weighted(probabilities());
    case Combination::kVote: {
      const std::string depth = graph.integers("vote.depth", {classes});
      const std::string marks = graph.floats("vote.marks", {2}, {0, 1});
      const std::string share =
          graph.node("Mean", each([&](size_t j) {
                       const std::string first = graph.node("ArgMax", {logits[j]}, {{"axis", 1}, {"keepdims", 0}});
                       return graph.node("OneHot", {first, depth, marks}, {{"axis", 1}});
                     }));
      const std::string tie =
          graph.floats("vote.tie", {}, {static_cast<float>(kTieShare / static_cast<double>(logits.size()))});
      const std::string ballot =
          graph.node("Add", {share, graph.node("Mul", {graph.node("Mean", probabilities()), tie})});
      const std::string axis = graph.integers("vote.axis", {1});
      return graph.node("Div", {ballot, graph.node("ReduceSum", {ballot, axis}, {{"keepdims", 1}})});
    }
  }
  return {};
}

}  // namespace

void export_onnx(const std::string& path, const Ensemble& ensemble) {
  const int64_t size = ensemble.preprocessing().size;
  const auto classes = static_cast<int64_t>(ensemble.classes().size());
  OnnxTranslator translator("tributary");
  OnnxGraph& graph = translator.graph;
  constexpr int64_t kFloat = 1;  // TensorProto.FLOAT
  const std::string pixels = graph.input("pixels", DType::U8, {"batch", size, size, 3});
  const std::string floats = graph.node("Cast", {pixels}, {{"to", kFloat}});
  const std::string planes = graph.node("Transpose", {floats}, {{"perm", Ints{0, 3, 1, 2}}});
  std::vector<std::string> logits;
  for (int64_t j = 0; j < ensemble.size(); ++j) {
    const SourceModel& source = ensemble.sources[j];
    const LayeredSource* layered = source.layered();
    if (layered == nullptr)
      input_error(
          "source {} is TorchScript and cannot be exported to ONNX; distil the mixture into one network with: "
          "tributary "
          "distill",
          source.info().name);
    const std::string prefix = "source." + std::to_string(j) + ".";
    const PixelScale scale = pixel_scale(source.info().normalisation);
    const std::string scaled = graph.node("Mul", {planes, translator.constant(prefix + "scale", scale.scale)});
    const std::string normalised = graph.node("Add", {scaled, translator.constant(prefix + "shift", scale.shift)});
    const Value features = translator.translate(layered->network(), {normalised, size}, prefix);
    logits.push_back(translator.affine(features.name, layered->folded_head(), prefix + "head"));
  }
  const std::string result = combined(graph, logits, ensemble.mixture, classes);
  graph.node("Identity", {result}, {}, "probabilities");
  graph.output("probabilities", DType::F32, {"batch", classes});
  const nlohmann::json facts = export_facts(ensemble);
  for (const auto& [key, value] : facts.items())
    graph.metadata(key, value.is_string() ? value.get<std::string>() : json_text(value));
  graph.write(path);
}

}  // namespace tributary
