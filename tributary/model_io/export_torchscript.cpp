// Export to TorchScript: writes the forward pass of a model as TorchScript source code.
#include <fmt/ranges.h>
#include <torch/script.h>

#include <algorithm>
#include <cmath>
#include <sstream>

#include "tributary/base/error.h"
#include "tributary/base/files.h"
#include "tributary/model/layered_source.h"
#include "tributary/model/scripted_source.h"
#include "tributary/model_io/export.h"

namespace tributary {
namespace {

// Collects the source code of the forward pass and registers the tensors that it uses.
class ScriptWriter {
 public:
  ScriptWriter() : module_("tributary") { append("def forward(self, pixels: Tensor) -> Tensor:"); }

  // Appends one statement.
  template <typename... Args>
  void line(fmt::format_string<Args...> format, Args&&... args) {
    append("    " + fmt::format(format, std::forward<Args>(args)...));
  }

  // Registers the tensor as a member of the module and returns the expression that refers to it.
  std::string member(std::string name, const Tensor& tensor, bool trained = true) {
    std::replace_if(
        name.begin(), name.end(), [](char c) { return c == '.' || c == '-'; }, '_');
    const Tensor own = tensor.detach().to(torch::kCPU).clone();
    if (trained)
      module_.register_parameter(name, own, /*is_buffer=*/false);
    else
      module_.register_buffer(name, own);
    return "self." + name;
  }

  // Appends the statements of `network` for the variable `x`, pictures of `size` x `size`, and returns the variable
  // with its result.
  std::string translate(const Network& network, int64_t size, const std::string& x, const std::string& prefix) {
    std::vector<std::string> values = {x};
    const std::vector<std::vector<int64_t>> shapes = network.shapes(size);
    for (const Layer& layer : network.layers()) {
      std::vector<std::string> inputs;
      input_shape_ = shapes[static_cast<size_t>(layer.inputs.front())];
      for (const int input : layer.inputs) inputs.push_back(values[static_cast<size_t>(input)]);
      values.push_back(assigned(std::visit(
          [&](const auto& kind) {
            if constexpr (requires { expression_of(kind, inputs); })
              return expression_of(kind, inputs);
            else
              return expression_of(kind, inputs.front(), prefix + layer.name);
          },
          layer.kind)));
    }
    return values.back();
  }

  std::string affine(const std::string& x, const Affine& map, const std::string& name) {
    return fmt::format("torch.linear({}, {}, {})", x, member(name + ".weight", map.weight),
                       map.bias.defined() ? member(name + ".bias", map.bias) : "None");
  }

  torch::jit::Module& module() { return module_; }
  torch::jit::Module& finished() {
    module_.define(source_);
    module_.eval();
    return module_;
  }

 private:
  void append(const std::string& text) { source_ += text + "\n"; }

  // Assigns the expression to a new variable and returns its name.
  std::string assigned(const std::string& expression) {
    std::string result = fmt::format("v{}", ++variables_);
    line("{} = {}", result, expression);
    return result;
  }

  std::string expression_of(const Conv2d& conv, const std::string& x, const std::string& name) {
    const std::string weight = member(name + ".weight", conv.weight);
    const std::string bias = conv.bias.defined() ? member(name + ".bias", conv.bias) : "None";
    const int64_t padding = conv.same ? 0 : conv.padding;
    const std::string padded = conv.same ? assigned(same_padding(x, conv)) : x;
    return fmt::format("torch.conv2d({}, {}, {}, [{}, {}], [{}, {}], [1, 1], {})", padded, weight, bias, conv.stride,
                       conv.stride, padding, padding, conv.groups);
  }
  // Zeros around `x` as Conv2d::pads() has them, for any size.
  std::string same_padding(const std::string& x, const Conv2d& conv) {
    const auto total = [&](int dimension) {
      return assigned(fmt::format("max(0, ({0}.size({1}) + {2} - 1) // {2} * {2} - {2} + {3} - {0}.size({1}))", x,
                                  dimension, conv.stride, conv.weight.size(2)));
    };
    const std::string rows = total(2), columns = total(3);
    return fmt::format("torch.constant_pad_nd({0}, [{1} // 2, {1} - {1} // 2, {2} // 2, {2} - {2} // 2])", x, columns,
                       rows);
  }
  std::string expression_of(const BatchNorm& bn, const std::string& x, const std::string& name) {
    return fmt::format("torch.batch_norm({}, {}, {}, {}, {}, False, 0.1, {}, True)", x,
                       member(name + ".weight", bn.weight), member(name + ".bias", bn.bias),
                       member(name + ".running_mean", bn.running_mean, false),
                       member(name + ".running_var", bn.running_var, false), bn.epsilon);
  }
  std::string expression_of(const Linear& linear, const std::string& x, const std::string& name) {
    return affine(x, {linear.weight, linear.bias}, name);
  }
  std::string expression_of(const Relu&, const std::string& x, const std::string&) { return "torch.relu(" + x + ")"; }
  std::string expression_of(const MaxPool& pool, const std::string& x, const std::string&) {
    return fmt::format("torch.max_pool2d({0}, [{1}, {1}], [{2}, {2}], [{3}, {3}])", x, pool.kernel, pool.stride,
                       pool.padding);
  }
  std::string expression_of(const AveragePool& pool, const std::string& x, const std::string&) {
    return fmt::format("torch.adaptive_avg_pool2d({0}, [{1}, {1}])", x, pool.size);
  }
  std::string expression_of(const Add&, const std::vector<std::string>& x) { return x[0] + " + " + x[1]; }
  std::string expression_of(const Multiply&, const std::vector<std::string>& x) { return x[0] + " * " + x[1]; }
  std::string expression_of(const Concat&, const std::vector<std::string>& x) {
    return fmt::format("torch.cat([{}], 1)", fmt::join(x, ", "));
  }
  std::string expression_of(const WindowPool& pool, const std::string& x, const std::string&) {
    return fmt::format("torch.avg_pool2d({0}, [{1}, {1}])", x, pool.size);
  }
  std::string expression_of(const Activation& layer, const std::string& x, const std::string&) {
    using Function = Activation::Function;
    switch (layer.function) {
      case Function::kRelu6:
        return fmt::format("torch.clamp({}, 0, 6)", x);
      case Function::kSilu:
        return fmt::format("{0} * torch.sigmoid({0})", x);
      case Function::kHardswish:
        return fmt::format("{0} * torch.clamp({0} + 3, 0, 6) / 6", x);
      case Function::kHardsigmoid:
        return fmt::format("torch.clamp({} + 3, 0, 6) / 6", x);
      case Function::kSigmoid:
        return fmt::format("torch.sigmoid({})", x);
      case Function::kGelu:
        return fmt::format("{0} * 0.5 * (1 + torch.erf({0} * 0.7071067811865476))", x);
      case Function::kQuickGelu:
        return fmt::format("{0} * torch.sigmoid({0} * {1})", x, kQuickGeluFactor);
    }
    return {};
  }
  std::string expression_of(const ChannelsLast&, const std::string& x, const std::string&) {
    return x + ".permute([0, 2, 3, 1])";
  }
  std::string expression_of(const ChannelsFirst&, const std::string& x, const std::string&) {
    return x + ".permute([0, 3, 1, 2])";
  }
  std::string expression_of(const MapTokens&, const std::string& x, const std::string&) {
    return fmt::format("torch.flatten({}, 1, 2)", x);
  }
  std::string expression_of(const PatchMerge&, const std::string& x, const std::string&) {
    const std::string even =
        assigned(fmt::format("torch.constant_pad_nd({0}, [0, 0, 0, {0}.size(2) % 2, 0, {0}.size(1) % 2])", x));
    return fmt::format(
        "torch.cat([{0}[:, 0::2, 0::2], {0}[:, 1::2, 0::2], {0}[:, 0::2, 1::2], {0}[:, 1::2, 1::2]], -1)", even);
  }
  std::string expression_of(const TokenPool& pool, const std::string& x, const std::string&) {
    const std::string first = fmt::format("{}[:, 0]", x), mean = fmt::format("{}[:, {}:].mean(1)", x, pool.extra);
    if (pool.of == TokenPool::Of::kBoth) return fmt::format("torch.cat([{}, {}], 1)", first, mean);
    return pool.of == TokenPool::Of::kClass ? first : mean;
  }
  std::string expression_of(const LayerNorm& norm, const std::string& x, const std::string& name) {
    return fmt::format("torch.layer_norm({}, [{}], {}, {}, {})", x, norm.weight.size(0),
                       member(name + ".weight", norm.weight), member(name + ".bias", norm.bias), norm.epsilon);
  }
  std::string expression_of(const ChannelScale& layer, const std::string& x, const std::string& name) {
    return fmt::format("{} * {}", x, member(name, layer.factor.view({-1})));
  }
  std::string expression_of(const ResponseNorm& norm, const std::string& x, const std::string& name) {
    const std::string size = assigned(fmt::format("torch.norm({}, 2, [1, 2], True)", x));
    const std::string relative =
        assigned(fmt::format("{0} / ({0}.mean([-1], True) + {1})", size, ResponseNorm::kEpsilon));
    return fmt::format("{0} + {0} * {1} * {2} + {3}", x, relative, member(name + ".weight", norm.weight),
                       member(name + ".bias", norm.bias));
  }
  std::string expression_of(const TokenEmbedding& layer, const std::string& x, const std::string& name) {
    const bool with_class = layer.class_token.defined();
    const int64_t first = with_class ? 1 : 0;
    std::vector<std::string> parts;
    const auto append_token = [&](const char* token, const Tensor& value) {
      parts.push_back(fmt::format("{}.expand([{}.size(0), -1, -1])", member(name + token, value), x));
    };
    if (with_class) append_token("class_token", layer.class_token + layer.position.narrow(1, 0, 1));
    if (layer.registers.defined()) append_token("registers", layer.registers);
    const Tensor position = layer.position.narrow(1, first, layer.position.size(1) - first);
    parts.push_back(fmt::format("{} + {}", x, member(name + "position", position)));
    return fmt::format("torch.cat([{}], 1)", fmt::join(parts, ", "));
  }
  // Splits projected tokens [.., count, 3 c] into queries, keys and values [3, .., heads, count, c / heads].
  std::string split_heads(const std::string& tokens, int64_t count, int64_t heads, int64_t depth) {
    return assigned(
        fmt::format("{}.reshape([-1, {}, 3, {}, {}]).permute([2, 0, 3, 1, 4])", tokens, count, heads, depth));
  }
  std::string expression_of(const Attention& layer, const std::string& x, const std::string& name) {
    const int64_t channels = layer.projection.weight.size(0), depth = channels / layer.heads;
    const std::string tokens = assigned(affine(x, {layer.qkv.weight, layer.qkv.bias}, name + ".qkv"));
    const std::string parts =
        assigned(fmt::format("{0}.reshape([{0}.size(0), {0}.size(1), 3, {1}, {2}]).permute([2, 0, 3, "
                             "1, 4])",
                             tokens, layer.heads, depth));
    const std::string logits = assigned(fmt::format("torch.matmul({0}[0] * {1}, {0}[1].transpose(-2, -1))", parts,
                                                    1 / std::sqrt(static_cast<double>(depth))));
    const std::string mixed =
        assigned(fmt::format("torch.matmul(torch.softmax({}, -1), {}[2]).transpose(1, 2).flatten(2)", logits, parts));
    return affine(mixed, {layer.projection.weight, layer.projection.bias}, name + ".proj");
  }
  std::string expression_of(const WindowAttention& layer, const std::string& x, const std::string& name) {
    const int64_t height = input_shape_[0], width = input_shape_[1];
    const WindowAttention::Layout map = layer.layout(height, width);
    const int64_t window = layer.shape.window, tokens = window * window, heads = layer.shape.heads;
    const int64_t channels = layer.shape.channels, depth = channels / heads;
    std::string value = assigned(
        fmt::format("torch.constant_pad_nd({}, [0, 0, 0, {}, 0, {}])", x, map.width - width, map.height - height));
    const bool rolls = map.shift_height + map.shift_width > 0;
    if (rolls)
      value = assigned(fmt::format("torch.roll({}, [-{}, -{}], [1, 2])", value, map.shift_height, map.shift_width));
    value =
        assigned(fmt::format("{}.reshape([-1, {}, {}, {}, {}, {}]).permute([0, 1, 3, 2, 4, 5]).reshape([-1, {}, {}])",
                             value, map.rows, window, map.columns, window, channels, tokens, channels));
    value = assigned(affine(value, {layer.qkv.weight, layer.qkv_bias()}, name + ".qkv"));
    const std::string parts = split_heads(value, tokens, heads, depth);
    const auto unit = [&](int part) {
      return assigned(
          fmt::format("{0}[{1}] / torch.clamp_min(torch.norm({0}[{1}], 2, [-1], True), 1e-12)", parts, part));
    };
    const std::string query = layer.shape.cosine ? unit(0) : parts + "[0]",
                      key = layer.shape.cosine ? unit(1) : parts + "[1]";
    const std::string logits = assigned(fmt::format("torch.matmul({}, {}.transpose(-2, -1)) * {}", query, key,
                                                    member(name + ".scale", layer.logit_scale(), false)));
    const std::string placed = assigned(
        fmt::format("({}.reshape([-1, {}, {}, {}, {}]) + {}).reshape([-1, {}, {}, {}])", logits, map.rows * map.columns,
                    heads, tokens, tokens, member(name + ".positions", layer.bias(map), false), heads, tokens, tokens));
    value =
        assigned(fmt::format("torch.matmul(torch.softmax({}, -1), {}[2]).transpose(1, 2).flatten(2)", placed, parts));
    value = assigned(affine(value, {layer.projection.weight, layer.projection.bias}, name + ".proj"));
    value = assigned(
        fmt::format("{}.reshape([-1, {}, {}, {}, {}, {}]).permute([0, 1, 3, 2, 4, 5]).reshape([-1, {}, {}, {}])", value,
                    map.rows, map.columns, window, window, channels, map.height, map.width, channels));
    if (rolls)
      value = assigned(fmt::format("torch.roll({}, [{}, {}], [1, 2])", value, map.shift_height, map.shift_width));
    return fmt::format("{}[:, :{}, :{}]", value, height, width);
  }
  std::string expression_of(const Flatten&, const std::string& x, const std::string&) {
    return fmt::format("torch.flatten({}, 1)", x);
  }
  std::string expression_of(const Dropout&, const std::string& x, const std::string&) { return x; }

  torch::jit::Module module_;
  std::string source_;
  std::vector<int64_t> input_shape_;  // of the layer that is being translated, without the batch dimension
  int variables_ = 0;
};

// Returns the expression of the logits of source `j` for the variable `x`.
std::string logits_of(ScriptWriter& script, const SourceModel& source, const std::string& x, int64_t j) {
  if (const LayeredSource* layered = source.layered()) {
    const std::string prefix = fmt::format("source{}.", j);
    const std::string features = script.translate(layered->network(), source.info().preprocessing.size, x, prefix);
    return script.affine(features, layered->folded_head(), prefix + "head");
  }
  std::istringstream bytes(source.scripted()->bytes());
  const std::string name = fmt::format("source{}", j);
  script.module().register_module(name, torch::jit::load(bytes));
  if (!source.info().last_layer.empty()) return fmt::format("self.{}.forward({})", name, x);
  return fmt::format("self.{0}.classify(self.{0}.features({1}))", name, x);
}

// Returns the expression of the logits per class for the variable `z`, the outputs of source `j` (model/class_sets.h).
std::string classes_of(ScriptWriter& script, const SourceModel& source, const std::string& z, int64_t j) {
  const OutputParts map = output_parts(source);
  std::vector<std::string> parts;
  for (size_t p = 0; p < map.parts.size(); ++p)
    parts.push_back(script.affine(z, map.parts[p], fmt::format("source{}.outputs{}", j, p)));
  if (parts.empty()) return z;
  if (parts.size() == 1) return parts.front();
  const std::string merged = fmt::format("torch.logsumexp(torch.stack([{}]), 0)", fmt::join(parts, ", "));
  if (!map.known.defined()) return merged;
  return fmt::format("{} * {}", merged, script.member(fmt::format("known{}", j), map.known, false));
}

// Applies the mixture's rule and temperature (mixture.h) to the variable z, the logits [m, n, K].
void combine(ScriptWriter& script, const Mixture& mixture, int64_t classes) {
  const auto weights = [&] { return script.member("weights", mixture.weights.view({-1, 1, 1}), false); };
  switch (mixture.rule) {
    case Combination::kMeanProbability:
      script.line("p = torch.softmax(z, 2).mean(0)");
      break;
    case Combination::kMeanLogit:
      script.line("p = torch.softmax(z.mean(0), 1)");
      break;
    case Combination::kWeightedLogits:
      script.line("p = torch.softmax((z * {}).sum(0), 1)", weights());
      break;
    case Combination::kWeightedProbabilities:
      script.line("p = (torch.softmax(z, 2) * {}).sum(0)", weights());
      break;
    case Combination::kVote:
      script.line("share = torch.one_hot(z.argmax(2), {}).float().mean(0)", classes);
      script.line("ballot = share + torch.softmax(z, 2).mean(0) * ({} / z.size(0))", kTieShare);
      script.line("p = ballot / ballot.sum(1, keepdim=True)");
      break;
  }
  if (mixture.temperature == 1) return script.line("return p");
  script.line("return torch.softmax(torch.log(torch.clamp_min(p, {})) / {}, 1)", kLeastProbability,
              mixture.temperature);
}

}  // namespace

void export_torchscript(const std::string& path, const Ensemble& ensemble) {
  ScriptWriter script;
  script.line("planes = pixels.permute([0, 3, 1, 2]).float()");
  std::vector<std::string> logits;
  for (int64_t j = 0; j < ensemble.size(); ++j) {
    const SourceModel& source = ensemble.sources[j];
    const PixelScale scale = pixel_scale(source.info().normalisation);
    script.line("x{} = planes * {} + {}", j, script.member(fmt::format("scale{}", j), scale.scale, false),
                script.member(fmt::format("shift{}", j), scale.shift, false));
    const std::string value = logits_of(script, source, fmt::format("x{}", j), j);
    script.line("z{} = {}", j, value);
    if (!source.output_map().empty()) script.line("z{} = {}", j, classes_of(script, source, fmt::format("z{}", j), j));
    logits.push_back(fmt::format("z{}", j));
  }
  const auto classes_count = static_cast<int64_t>(ensemble.classes().size());
  if (const Tensor completion = completion_matrix(ensemble); completion.defined())
    script.line("z = torch.matmul(torch.cat([{}], 1), {}).reshape([-1, {}, {}]).transpose(0, 1)",
                fmt::join(logits, ", "), script.member("completion", completion, false), ensemble.size(),
                classes_count);
  else
    script.line("z = torch.stack([{}])", fmt::join(logits, ", "));
  combine(script, ensemble.mixture, classes_count);
  torch::jit::Module& module = script.finished();
  c10::List<std::string> classes;
  for (const std::string& name : ensemble.classes()) classes.push_back(name);
  module.register_attribute("classes", c10::ListType::ofStrings(), classes);
  module.register_attribute("size", c10::IntType::get(), int64_t{ensemble.preprocessing().size});
  module.register_attribute("resize", c10::IntType::get(), int64_t{ensemble.preprocessing().resize});
  std::ostringstream bytes;
  module.save(bytes);
  write_file_atomically(path, bytes.str());
}

}  // namespace tributary
