// Export to TorchScript: writes the forward pass of a model as TorchScript source code.
#include <fmt/ranges.h>
#include <torch/script.h>

#include <algorithm>
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
    std::replace(name.begin(), name.end(), '.', '_');
    const Tensor own = tensor.detach().to(torch::kCPU).clone();
    if (trained)
      module_.register_parameter(name, own, /*is_buffer=*/false);
    else
      module_.register_buffer(name, own);
    return "self." + name;
  }

  // Appends the statements of `network` for the variable `x` and returns the variable with its result.
  std::string translate(const Network& network, const std::string& x, const std::string& prefix) {
    std::vector<std::string> values = {x};
    for (const Layer& layer : network.layers()) {
      const std::string result = fmt::format("v{}", ++variables_);
      const std::string& input = values[layer.inputs.front()];
      const std::string expression =
          std::visit([&](const auto& kind) { return expression_of(kind, input, prefix + layer.name); }, layer.kind);
      if (std::holds_alternative<Add>(layer.kind))
        line("{} = {} + {}", result, input, values[layer.inputs[1]]);
      else
        line("{} = {}", result, expression);
      values.push_back(result);
    }
    return values.back();
  }

  std::string affine(const std::string& x, const Affine& map, const std::string& name) {
    return fmt::format("torch.linear({}, {}, {})", x, member(name + ".weight", map.weight),
                       member(name + ".bias", map.bias));
  }

  torch::jit::Module& module() { return module_; }
  torch::jit::Module& finished() {
    module_.define(source_);
    module_.eval();
    return module_;
  }

 private:
  void append(const std::string& text) { source_ += text + "\n"; }

  std::string expression_of(const Conv2d& conv, const std::string& x, const std::string& name) {
    const std::string weight = member(name + ".weight", conv.weight);
    const std::string bias = conv.bias.defined() ? member(name + ".bias", conv.bias) : "None";
    return fmt::format("torch.conv2d({}, {}, {}, [{}, {}], [{}, {}], [1, 1], {})", x, weight, bias, conv.stride,
                       conv.stride, conv.padding, conv.padding, conv.groups);
  }
  std::string expression_of(const BatchNorm& bn, const std::string& x, const std::string& name) {
    return fmt::format("torch.batch_norm({}, {}, {}, {}, {}, False, 0.1, {}, True)", x,
                       member(name + ".weight", bn.weight), member(name + ".bias", bn.bias),
                       member(name + ".running_mean", bn.running_mean, false),
                       member(name + ".running_var", bn.running_var, false), kBatchNormEpsilon);
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
  std::string expression_of(const Add&, const std::string&, const std::string&) { return {}; }
  std::string expression_of(const Flatten&, const std::string& x, const std::string&) {
    return fmt::format("torch.flatten({}, 1)", x);
  }
  std::string expression_of(const Dropout&, const std::string& x, const std::string&) { return x; }

  torch::jit::Module module_;
  std::string source_;
  int variables_ = 0;
};

// Returns the expression of the logits of source `j` for the variable `x`.
std::string logits_of(ScriptWriter& script, const SourceModel& source, const std::string& x, int64_t j) {
  if (const LayeredSource* layered = source.layered()) {
    const std::string prefix = fmt::format("source{}.", j);
    const std::string features = script.translate(layered->network(), x, prefix);
    return script.affine(features, layered->folded_head(), prefix + "head");
  }
  std::istringstream bytes(source.scripted()->bytes());
  const std::string name = fmt::format("source{}", j);
  script.module().register_module(name, torch::jit::load(bytes));
  if (!source.info().last_layer.empty()) return fmt::format("self.{}.forward({})", name, x);
  return fmt::format("self.{0}.classify(self.{0}.features({1}))", name, x);
}

// Applies the mixture's rule (mixture.h) to the variable z, the logits [m, n, K].
void combine(ScriptWriter& script, const Mixture& mixture, int64_t classes) {
  const auto weights = [&] { return script.member("weights", mixture.weights.view({-1, 1, 1}), false); };
  switch (mixture.rule) {
    case Combination::kMeanProbability:
      return script.line("return torch.softmax(z, 2).mean(0)");
    case Combination::kMeanLogit:
      return script.line("return torch.softmax(z.mean(0), 1)");
    case Combination::kWeightedLogits:
      return script.line("return torch.softmax((z * {}).sum(0), 1)", weights());
    case Combination::kWeightedProbabilities:
      return script.line("return (torch.softmax(z, 2) * {}).sum(0)", weights());
    case Combination::kVote:
      script.line("share = torch.one_hot(z.argmax(2), {}).float().mean(0)", classes);
      script.line("ballot = share + torch.softmax(z, 2).mean(0) * ({} / z.size(0))", kTieShare);
      return script.line("return ballot / ballot.sum(1, keepdim=True)");
  }
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
    logits.push_back(fmt::format("z{}", j));
  }
  script.line("z = torch.stack([{}])", fmt::join(logits, ", "));
  combine(script, ensemble.mixture, static_cast<int64_t>(ensemble.classes().size()));
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
