// Export to ONNX: translates a model layer by layer into an ONNX graph.
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "tributary/base/error.h"
#include "tributary/base/json_text.h"
#include "tributary/io/onnx_writer.h"
#include "tributary/model/layered_source.h"
#include "tributary/model_io/export.h"

namespace tributary {
namespace {

using Ints = std::vector<int64_t>;

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

  // Returns the last value of `network` for the input `x`, pictures of `size` x `size`.
  std::string translate(const Network& network, int64_t size, const std::string& x, const std::string& prefix) {
    std::vector<std::string> values = {x};
    const std::vector<Ints> shapes = network.shapes(size);
    for (const Layer& layer : network.layers()) {
      std::vector<std::string> inputs;
      for (const int input : layer.inputs) inputs.push_back(values[static_cast<size_t>(input)]);
      const Place place{prefix + layer.name, shapes[static_cast<size_t>(layer.inputs.front())]};
      values.push_back(std::visit(
          [&](const auto& kind) {
            if constexpr (requires { node(kind, inputs); })
              return node(kind, inputs);
            else
              return node(kind, inputs.front(), place);
          },
          layer.kind));
    }
    return values.back();
  }

  std::string affine(const std::string& x, const Affine& map, const std::string& name) {
    return graph.node("Gemm", {x, constant(name + ".weight", map.weight), constant(name + ".bias", map.bias)},
                      {{"transB", 1}});
  }

  OnnxGraph graph;

 private:
  // Where a layer stands: the name of its tensors and the shape of its input without the batch dimension.
  struct Place {
    std::string name;
    Ints shape;
  };

  std::string node(const Conv2d& conv, const std::string& x, const Place& at) {
    const int64_t kernel = conv.weight.size(2);
    std::vector<std::string> inputs = {x, constant(at.name + ".weight", conv.weight)};
    if (conv.bias.defined()) inputs.push_back(constant(at.name + ".bias", conv.bias));
    const auto [top, bottom] = conv.pads(at.shape[1]);
    const auto [left, right] = conv.pads(at.shape[2]);
    return graph.node("Conv", inputs,
                      {{"kernel_shape", Ints{kernel, kernel}},
                       {"strides", Ints{conv.stride, conv.stride}},
                       {"pads", Ints{top, left, bottom, right}},
                       {"group", conv.groups}});
  }

  std::string node(const BatchNorm& bn, const std::string& x, const Place& at) {
    return graph.node(
        "BatchNormalization",
        {x, constant(at.name + ".weight", bn.weight), constant(at.name + ".bias", bn.bias),
         constant(at.name + ".running_mean", bn.running_mean), constant(at.name + ".running_var", bn.running_var)},
        {{"epsilon", static_cast<float>(bn.epsilon)}});
  }

  std::string node(const Linear& linear, const std::string& x, const Place& at) {
    return at.shape.size() == 1 && linear.bias.defined() ? affine(x, {linear.weight, linear.bias}, at.name)
                                                         : product(x, {linear.weight, linear.bias}, at.name);
  }

  // A linear layer over the last of any number of dimensions.
  std::string product(const std::string& x, const Affine& map, const std::string& name) {
    const std::string result = graph.node("MatMul", {x, constant(name + ".weight", map.weight.t())});
    return map.bias.defined() ? graph.node("Add", {result, constant(name + ".bias", map.bias)}) : result;
  }

  std::string node(const Relu&, const std::string& x, const Place&) { return graph.node("Relu", {x}); }

  std::string node(const MaxPool& pool, const std::string& x, const Place&) {
    return graph.node("MaxPool", {x},
                      {{"kernel_shape", Ints{pool.kernel, pool.kernel}},
                       {"strides", Ints{pool.stride, pool.stride}},
                       {"pads", Ints(4, pool.padding)}});
  }

  // ONNX has no adaptive average pooling; express it as a matrix product along each dimension.
  std::string node(const AveragePool& pool, const std::string& x, const Place& at) {
    const int64_t side = at.shape[1];
    if (pool.size == 1) return graph.node("GlobalAveragePool", {x});
    if (pool.size == side) return x;
    const Tensor columns = at::adaptive_avg_pool1d(torch::eye(side).unsqueeze(0), {pool.size})[0];  // [side, size]
    const std::string right = constant(x + ".columns", columns);
    const std::string left = constant(x + ".rows", columns.t());
    return graph.node("MatMul", {left, graph.node("MatMul", {x, right})});
  }

  std::string node(const WindowPool& pool, const std::string& x, const Place&) {
    return graph.node("AveragePool", {x},
                      {{"kernel_shape", Ints{pool.size, pool.size}}, {"strides", Ints{pool.size, pool.size}}});
  }

  std::string node(const Add&, const std::vector<std::string>& x) { return graph.node("Add", x); }
  std::string node(const Multiply&, const std::vector<std::string>& x) { return graph.node("Mul", x); }
  std::string node(const Concat&, const std::vector<std::string>& x) { return graph.node("Concat", x, {{"axis", 1}}); }
  std::string node(const Flatten&, const std::string& x, const Place&) {
    return graph.node("Flatten", {x}, {{"axis", 1}});
  }
  std::string node(const Dropout&, const std::string& x, const Place&) { return x; }

  std::string node(const Activation& layer, const std::string& x, const Place&) {
    using Function = Activation::Function;
    switch (layer.function) {
      case Function::kRelu6:
        return graph.node("Clip", {x, number(0), number(6)});
      case Function::kSilu:
        return graph.node("Mul", {x, graph.node("Sigmoid", {x})});
      case Function::kHardswish:
        return graph.node("Mul", {x, hard_sigmoid(x)});
      case Function::kHardsigmoid:
        return hard_sigmoid(x);
      case Function::kSigmoid:
        return graph.node("Sigmoid", {x});
      case Function::kGelu: {
        const std::string erf = graph.node("Erf", {scaled(x, M_SQRT1_2)});
        return graph.node("Mul", {scaled(x, 0.5), graph.node("Add", {erf, number(1)})});
      }
      case Function::kQuickGelu:
        return graph.node("Mul", {x, graph.node("Sigmoid", {scaled(x, kQuickGeluFactor)})});
    }
    return {};
  }

  std::string node(const ChannelsLast&, const std::string& x, const Place&) { return permuted(x, {0, 2, 3, 1}); }
  std::string node(const ChannelsFirst&, const std::string& x, const Place&) { return permuted(x, {0, 3, 1, 2}); }
  std::string node(const MapTokens&, const std::string& x, const Place& at) {
    return reshaped(x, {-1, at.shape[0] * at.shape[1], at.shape[2]});
  }

  std::string node(const PatchMerge&, const std::string& x, const Place& at) {
    const std::string even = padded(x, at.shape[0] % 2, at.shape[1] % 2);
    const auto part = [&](int64_t row, int64_t column) {
      return sliced(even, {row, column}, {kEnd, kEnd}, {1, 2}, {2, 2});
    };
    return graph.node("Concat", {part(0, 0), part(1, 0), part(0, 1), part(1, 1)}, {{"axis", 3}});
  }

  std::string node(const TokenPool& pool, const std::string& x, const Place& at) {
    const auto first = [&] { return reshaped(sliced(x, {0}, {1}, {1}, {1}), {-1, at.shape[1]}); };
    const auto mean = [&] {
      return graph.node("ReduceMean", {sliced(x, {pool.extra}, {kEnd}, {1}, {1})},
                        {{"axes", Ints{1}}, {"keepdims", 0}});
    };
    if (pool.of == TokenPool::Of::kBoth) return graph.node("Concat", {first(), mean()}, {{"axis", 1}});
    return pool.of == TokenPool::Of::kClass ? first() : mean();
  }

  std::string node(const LayerNorm& norm, const std::string& x, const Place& at) {
    const std::string centred = graph.node("Sub", {x, mean_of(x, {-1})});
    const std::string variance = mean_of(graph.node("Mul", {centred, centred}), {-1});
    const std::string deviation = graph.node("Sqrt", {graph.node("Add", {variance, number(norm.epsilon)})});
    const std::string normal = graph.node("Div", {centred, deviation});
    const std::string stretched = graph.node("Mul", {normal, constant(at.name + ".weight", norm.weight)});
    return graph.node("Add", {stretched, constant(at.name + ".bias", norm.bias)});
  }

  std::string node(const ChannelScale& layer, const std::string& x, const Place& at) {
    return graph.node("Mul", {x, constant(at.name, layer.factor.view({-1}))});
  }

  std::string node(const ResponseNorm& norm, const std::string& x, const Place& at) {
    const std::string size = graph.node("ReduceL2", {x}, {{"axes", Ints{1, 2}}, {"keepdims", 1}});
    const std::string mean = graph.node("Add", {mean_of(size, {-1}), number(ResponseNorm::kEpsilon)});
    const std::string relative = graph.node("Mul", {x, graph.node("Div", {size, mean})});
    const std::string stretched = graph.node("Mul", {relative, constant(at.name + ".weight", norm.weight)});
    return graph.node("Add", {graph.node("Add", {x, stretched}), constant(at.name + ".bias", norm.bias)});
  }

  std::string node(const TokenEmbedding& layer, const std::string& x, const Place& at) {
    const int64_t first = layer.class_token.defined() ? 1 : 0, channels = at.shape[1];
    const std::string patches = graph.node(
        "Add", {x, constant(at.name + "position", layer.position.narrow(1, first, layer.position.size(1) - first))});
    std::vector<Tensor> tokens;
    if (first > 0) tokens.push_back(layer.class_token + layer.position.narrow(1, 0, 1));
    if (layer.registers.defined()) tokens.push_back(layer.registers);
    if (tokens.empty()) return patches;
    const Tensor all = at::cat(tokens, 1);
    // The batch size is that of a slice of the patches, which is multiplied by zero.
    const std::string zero = scaled(sliced(x, {0}, {1}, {1}, {1}), 0);
    const std::string each =
        graph.node("Add", {zero, constant(at.name + "tokens", all.view({1, all.size(1), channels}))});
    return graph.node("Concat", {each, patches}, {{"axis", 1}});
  }

  // Queries, keys or values [n, heads, count, depth] of projected tokens [n, count, 3 * heads * depth].
  std::string part_of(const std::string& split, int64_t part, const Ints& shape) {
    return permuted(reshaped(sliced(split, {part}, {part + 1}, {2}, {1}), shape), {0, 2, 1, 3});
  }

  std::string node(const Attention& layer, const std::string& x, const Place& at) {
    const int64_t tokens = at.shape[0], channels = at.shape[1], depth = channels / layer.heads;
    const std::string projected = product(x, {layer.qkv.weight, layer.qkv.bias}, at.name + ".qkv");
    const std::string split = reshaped(projected, {-1, tokens, 3, channels});
    const Ints shape = {-1, tokens, layer.heads, depth};
    const std::string query = scaled(part_of(split, 0, shape), 1 / std::sqrt(static_cast<double>(depth)));
    const std::string key = permuted(part_of(split, 1, shape), {0, 1, 3, 2});
    const std::string weights = graph.node("Softmax", {graph.node("MatMul", {query, key})}, {{"axis", -1}});
    const std::string mixed = graph.node("MatMul", {weights, part_of(split, 2, shape)});
    return product(reshaped(permuted(mixed, {0, 2, 1, 3}), {-1, tokens, channels}),
                   {layer.projection.weight, layer.projection.bias}, at.name + ".proj");
  }

  std::string node(const WindowAttention& layer, const std::string& x, const Place& at) {
    const int64_t height = at.shape[0], width = at.shape[1], channels = at.shape[2];
    const WindowAttention::Layout map = layer.layout(height, width);
    const int64_t window = layer.shape.window, tokens = window * window, heads = layer.shape.heads;
    const int64_t depth = channels / heads;
    std::string value = padded(x, map.height - height, map.width - width);
    value = rolled(rolled(value, 1, map.shift_height), 2, map.shift_width);
    value = permuted(reshaped(value, {-1, map.rows, window, map.columns, window, channels}), {0, 1, 3, 2, 4, 5});
    value = product(reshaped(value, {-1, tokens, channels}), {layer.qkv.weight, layer.qkv_bias()}, at.name + ".qkv");
    const std::string split = reshaped(value, {-1, tokens, 3, channels});
    const Ints shape = {-1, tokens, heads, depth};
    const auto directed = [&](int64_t part) {
      const std::string rows = part_of(split, part, shape);
      if (!layer.shape.cosine) return rows;
      const std::string size = graph.node("ReduceL2", {rows}, {{"axes", Ints{-1}}, {"keepdims", 1}});
      return graph.node("Div", {rows, graph.node("Max", {size, number(1e-12)})});
    };
    const std::string query = directed(0), key = permuted(directed(1), {0, 1, 3, 2});
    const std::string logits =
        graph.node("Mul", {graph.node("MatMul", {query, key}), constant(at.name + ".scale", layer.logit_scale())});
    const std::string placed = graph.node("Add", {reshaped(logits, {-1, map.rows * map.columns, heads, tokens, tokens}),
                                                  constant(at.name + ".positions", layer.bias(map))});
    const std::string weights = graph.node("Softmax", {reshaped(placed, {-1, heads, tokens, tokens})}, {{"axis", -1}});
    value = graph.node("MatMul", {weights, part_of(split, 2, shape)});
    value = product(reshaped(permuted(value, {0, 2, 1, 3}), {-1, tokens, channels}),
                    {layer.projection.weight, layer.projection.bias}, at.name + ".proj");
    value = permuted(reshaped(value, {-1, map.rows, map.columns, window, window, channels}), {0, 1, 3, 2, 4, 5});
    value = reshaped(value, {-1, map.height, map.width, channels});
    value = rolled(rolled(value, 1, -map.shift_height), 2, -map.shift_width);
    return map.height == height && map.width == width ? value : sliced(value, {0, 0}, {height, width}, {1, 2}, {1, 1});
  }

  static constexpr int64_t kEnd = std::numeric_limits<int64_t>::max();

  std::string number(double value) {
    return graph.floats(fmt::format("number.{}", ++numbers_), {}, {static_cast<float>(value)});
  }
  std::string integers(const Ints& values) { return graph.integers(fmt::format("integers.{}", ++numbers_), values); }
  std::string scaled(const std::string& x, double factor) { return graph.node("Mul", {x, number(factor)}); }
  std::string hard_sigmoid(const std::string& x) {
    return graph.node("HardSigmoid", {x}, {{"alpha", 1.0f / 6}, {"beta", 0.5f}});
  }
  std::string mean_of(const std::string& x, const Ints& axes) {
    return graph.node("ReduceMean", {x}, {{"axes", axes}, {"keepdims", 1}});
  }
  std::string permuted(const std::string& x, const Ints& order) {
    return graph.node("Transpose", {x}, {{"perm", order}});
  }
  std::string reshaped(const std::string& x, const Ints& shape) { return graph.node("Reshape", {x, integers(shape)}); }
  std::string sliced(const std::string& x, const Ints& from, const Ints& to, const Ints& axes, const Ints& steps) {
    return graph.node("Slice", {x, integers(from), integers(to), integers(axes), integers(steps)});
  }
  // Zeros below and to the right of a map [n, h, w, c].
  std::string padded(const std::string& x, int64_t rows, int64_t columns) {
    return rows + columns == 0 ? x : graph.node("Pad", {x, integers({0, 0, 0, 0, 0, rows, columns, 0})});
  }
  // Moves a dimension by `shift` towards its start, or by -`shift` towards its end.
  std::string rolled(const std::string& x, int64_t axis, int64_t shift) {
    if (shift == 0) return x;
    const std::string tail = sliced(x, {shift}, {kEnd}, {axis}, {1}), head = sliced(x, {0}, {shift}, {axis}, {1});
    return graph.node("Concat", {tail, head}, {{"axis", axis}});
  }

  std::vector<Tensor> constants_;
  size_t numbers_ = 0;
};

// The logits per class from the outputs `z` of a source (model/class_sets.h).
std::string classes_of(OnnxTranslator& translator, const SourceModel& source, const std::string& z,
                       const std::string& prefix) {
  OnnxGraph& graph = translator.graph;
  const OutputParts map = output_parts(source);
  std::vector<std::string> parts, powers;
  for (size_t p = 0; p < map.parts.size(); ++p)
    parts.push_back(translator.affine(z, map.parts[p], prefix + "outputs" + std::to_string(p)));
  if (parts.size() < 2) return parts.empty() ? z : parts.front();
  const std::string top = graph.node("Max", parts);
  for (const std::string& part : parts) powers.push_back(graph.node("Exp", {graph.node("Sub", {part, top})}));
  const std::string merged = graph.node("Add", {graph.node("Log", {graph.node("Sum", powers)}), top});
  return map.known.defined() ? graph.node("Mul", {merged, translator.constant(prefix + "known", map.known)}) : merged;
}

// Completes the logits of sources that do not know all classes.
std::vector<std::string> completed(OnnxTranslator& translator, std::vector<std::string> logits,
                                   const Ensemble& ensemble) {
  const Tensor completion = completion_matrix(ensemble);
  if (!completion.defined()) return logits;
  const std::string all = translator.graph.node("Concat", logits, {{"axis", 1}});
  const int64_t classes = completion.size(1) / ensemble.size();
  for (int64_t j = 0; j < ensemble.size(); ++j) {
    const Tensor own = completion.narrow(1, j * classes, classes).contiguous();
    const std::string name = "completion." + std::to_string(j);
    logits[static_cast<size_t>(j)] = translator.graph.node("MatMul", {all, translator.constant(name, own)});
  }
  return logits;
}

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

// tempered() of the result (mixture.h).
std::string tempered(OnnxGraph& graph, const std::string& probabilities, const Mixture& mixture) {
  if (mixture.temperature == 1) return probabilities;
  const std::string least = graph.floats("temperature.least", {}, {static_cast<float>(kLeastProbability)});
  const std::string inverse = graph.floats("temperature.inverse", {}, {static_cast<float>(1 / mixture.temperature)});
  const std::string logarithm = graph.node("Log", {graph.node("Max", {probabilities, least})});
  return graph.node("Softmax", {graph.node("Mul", {logarithm, inverse})}, {{"axis", 1}});
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
    const std::string features = translator.translate(layered->network(), size, normalised, prefix);
    const std::string outputs = translator.affine(features, layered->folded_head(), prefix + "head");
    logits.push_back(classes_of(translator, source, outputs, prefix));
  }
  logits = completed(translator, std::move(logits), ensemble);
  const std::string result = tempered(graph, combined(graph, logits, ensemble.mixture, classes), ensemble.mixture);
  graph.node("Identity", {result}, {}, "probabilities");
  graph.output("probabilities", DType::F32, {"batch", classes});
  const nlohmann::json facts = export_facts(ensemble);
  for (const auto& [key, value] : facts.items())
    graph.metadata(key, value.is_string() ? value.get<std::string>() : json_text(value));
  graph.write(path);
}

}  // namespace tributary
