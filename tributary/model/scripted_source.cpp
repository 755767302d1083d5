#include "tributary/model/scripted_source.h"

#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/jit/python/update_graph_executor_opt.h>
#include <torch/script.h>

#include <fmt/ranges.h>

#include <algorithm>
#include <mutex>
#include <new>
#include <set>
#include <sstream>

#include "tributary/base/error.h"
#include "tributary/base/message.h"
#include "tributary/base/text.h"
#include "tributary/device/device.h"
#include "tributary/io/weight_names.h"

namespace tributary {
namespace {

// Replaces the weight of the last linear layer by the identity, so that the module's forward pass returns the features.
struct Bypass {
  torch::jit::Module layer;
  Tensor weight, bias;  // the classifier; the bias may be undefined
  Tensor identity, zero;

  void open() {
    layer.setattr("weight", identity);
    if (bias.defined()) layer.setattr("bias", zero);
  }
  void close() {
    layer.setattr("weight", weight);
    if (bias.defined()) layer.setattr("bias", bias);
  }
};

// The last linear layers of the module as text, for messages: " (perhaps classifier.1 or head)".
std::string candidates(const torch::jit::Module& module) {
  constexpr size_t kMost = 3;
  std::vector<ForeignTensor> tensors;
  for (const auto& parameter : module.named_parameters())
    tensors.push_back({parameter.name, parameter.value.sizes().vec()});
  std::vector<std::string> layers = last_layer_candidates(tensors);
  layers.resize(std::min(layers.size(), kMost));
  return layers.empty() ? "" : fmt::format(" (perhaps {})", fmt::join(layers, " or "));
}

// Resolves a dotted path such as "head.fc".
torch::jit::Module layer_at(const torch::jit::Module& whole, const std::string& path, const std::string& file) {
  torch::jit::Module module = whole;
  std::istringstream parts(path);
  for (std::string part; std::getline(parts, part, '.');) {
    if (!module.hasattr(part) || !module.attr(part).isModule())
      input_error("{}: the module has no layer '{}'; name its last linear layer with --last-layer{}", file, path,
                  candidates(whole));
    module = module.attr(part).toModule();
  }
  return module;
}

Bypass bypass(const torch::jit::Module& layer, const std::string& path, const std::string& file) {
  Bypass result;
  result.layer = layer;
  if (!layer.hasattr("weight") || !layer.attr("weight").isTensor() || layer.attr("weight").toTensor().dim() != 2)
    input_error("{}: layer '{}' has no two-dimensional weight; name the last linear layer with --last-layer", file,
                path);
  result.weight = layer.attr("weight").toTensor();
  if (layer.hasattr("bias") && layer.attr("bias").isTensor()) result.bias = layer.attr("bias").toTensor();
  const int64_t width = result.weight.size(1);
  result.identity = torch::eye(width);
  result.zero = torch::zeros({width});
  return result;
}

// Switches the graph optimiser off: it specialises code after a few passes, which would change results from one pass to
// the next. The calling program's modules keep it.
class Unoptimised {
 public:
  Unoptimised() : before_(torch::jit::getGraphExecutorOptimize()) { torch::jit::setGraphExecutorOptimize(false); }
  ~Unoptimised() { torch::jit::setGraphExecutorOptimize(before_); }
  Unoptimised(const Unoptimised&) = delete;
  Unoptimised& operator=(const Unoptimised&) = delete;

 private:
  bool before_;
};

// Seeds Torch's own generator of a device, from which dropout inside a module draws, and restores its state.
class SeededGenerator {
 public:
  SeededGenerator(const torch::Device& device, uint64_t seed)
      : generator_(at::globalContext().defaultGenerator(device)) {
    const std::lock_guard<std::mutex> lock(generator_.mutex());
    state_ = generator_.get_state();
    generator_.set_current_seed(seed);
  }
  ~SeededGenerator() {
    const std::lock_guard<std::mutex> lock(generator_.mutex());
    generator_.set_state(state_);
  }
  SeededGenerator(const SeededGenerator&) = delete;
  SeededGenerator& operator=(const SeededGenerator&) = delete;

 private:
  at::Generator generator_;
  Tensor state_;
};

// The cause in an error of TorchScript's interpreter, which stands last ("builtins.ValueError: negative width"), or
// else the first line.
std::string cause_of(const std::string& error) {
  size_t begin = 0;
  for (const std::string mark : {"Error: ", "Exception: "})
    if (const size_t at = error.rfind(mark); at != std::string::npos) begin = std::max(begin, at + mark.size());
  return printable(first_line(error.substr(begin)), 160);
}

// Refuses weights without values, as those on the device `meta`.
void require_values(const torch::jit::Module& module, const std::string& file) {
  const auto check = [&](const std::string& name, const Tensor& tensor) {
    if (!tensor.device().is_cpu() || (tensor.layout() == torch::kStrided && tensor.numel() > 0 && !tensor.data_ptr()))
      input_error("{}: {} has no values; save the module with its weights on the CPU", file, printable(name, 80));
  };
  for (const auto& parameter : module.named_parameters()) check(parameter.name, parameter.value);
  for (const auto& buffer : module.named_buffers()) check(buffer.name, buffer.value);
}

// Pictures come with channels last, and convolutions would convert weights of another layout in every pass.
void use_channels_last(const torch::jit::Module& module) {
  for (const auto& parameter : module.named_parameters())
    if (parameter.value.dim() == 4)
      parameter.value.set_data(parameter.value.detach().contiguous(at::MemoryFormat::ChannelsLast));
}

}  // namespace

struct ScriptedSource::Script {
  std::string file;
  torch::jit::Module module;
  std::optional<Bypass> last;
  bool writes_input = false;     // as `x -= mean` does; the batch belongs to the other sources, too
  std::set<std::string> frozen;  // parameters that the classifier uses

  Tensor call(const std::string& method, const Tensor& x) {
    const Unoptimised unoptimised;
    return module.get_method(method)({x}).toTensor();
  }

  // The same for pictures or features that the probe has not seen. Throws an InputError if the module fails, or unless
  // the result is float [rows of x, width]; out of memory passes, because smaller batches may help.
  Tensor checked_call(const std::string& method, const Tensor& x, int64_t width) {
    Tensor made;
    try {
      made = call(method, x);
    } catch (const std::bad_alloc&) {
      throw;
    } catch (const std::exception& error) {
      if (is_out_of_memory(error) || is_out_of_gpu_memory(error)) throw;
      input_error("{}: the module fails on {} pictures ({})", file, x.size(0), cause_of(error.what()));
    }
    require_shape(made, method, x.size(0), width);
    return made;
  }

  void require_shape(const Tensor& made, const std::string& method, int64_t rows, int64_t width) const {
    if (made.dim() != 2 || made.size(0) != rows || made.size(1) != width || !made.is_floating_point())
      input_error("{}: '{}' returned {} [{}] for {} pictures; a module must return [n, {}] for n pictures", file,
                  method, c10::toString(made.scalar_type()), fmt::join(made.sizes(), ", "), rows, width);
  }
};

ScriptedSource::ScriptedSource(const std::string& bytes, const std::string& file, const std::string& last_layer,
                               int size)
    : script_(std::make_unique<Script>()) {
  script_->file = file;
  try {
    std::istringstream stream(bytes);
    script_->module = torch::jit::load(stream, torch::kCPU);
  } catch (const std::exception& error) {
    input_error("{} is not a TorchScript module that this LibTorch can load ({})", file,
                printable(first_line(error.what()), 160));
  }
  require_values(script_->module, file);
  use_channels_last(script_->module);
  const bool methods = script_->module.find_method("features") && script_->module.find_method("classify");
  if (!last_layer.empty())
    script_->last = bypass(layer_at(script_->module, last_layer, file), last_layer, file);
  else if (!methods)
    input_error(
        "{}: the module has no methods 'features' and 'classify'; add them, or name its last linear layer with "
        "--last-layer{}",
        file, candidates(script_->module));
  try {
    probe(file, size);
  } catch (const InputError&) {
    throw;
  } catch (const std::exception& error) {  // raised by Torch or by the module
    input_error("{}: the module fails on two pictures of {}x{} ({})", file, size, size, cause_of(error.what()));
  }
}

ScriptedSource::~ScriptedSource() = default;

void ScriptedSource::probe(const std::string& file, int size) {
  script_->module.eval();
  const Tensor x = torch::linspace(-1, 1, int64_t{2} * 3 * size * size).view({2, 3, size, size});
  Tensor expected;
  if (script_->last) {
    expected = script_->call("forward", x.clone());
    script_->last->open();
  }
  const Tensor before = x.clone();
  const Tensor phi = script_->call(script_->last ? "forward" : "features", x).detach();
  script_->writes_input = !torch::equal(x, before);
  if (phi.dim() != 2 || phi.size(0) != 2 || phi.size(1) < 1)
    input_error("{}: the features of two pictures have shape [{}] instead of [2, width]", file,
                fmt::join(phi.sizes(), ", "));
  feature_width_ = phi.size(1);
  const Tensor z = script_->last ? classify(phi) : script_->call("classify", phi);
  if (z.dim() != 2 || z.size(0) != 2 || z.size(1) < 2)
    input_error("{}: the logits of two pictures have shape [{}] instead of [2, classes]", file,
                fmt::join(z.sizes(), ", "));
  if (expected.defined() && (expected.sizes() != z.sizes() || (expected - z).abs().max().item<double>() >
                                                                  1e-4 * (1 + expected.abs().max().item<double>())))
    input_error(
        "{}: the output is not that of the layer named with --last-layer; name the last layer and return its "
        "logits",
        file);
  classes_ = z.size(1);
  if (script_->last) return;
  // Parameters with a gradient in the logits for fixed features belong to the classifier, which stays frozen.
  std::vector<Tensor> parameters;
  std::vector<std::string> names;
  for (const auto& parameter : script_->module.named_parameters()) {
    if (!parameter.value.requires_grad()) continue;
    parameters.push_back(parameter.value);
    names.push_back(parameter.name);
  }
  if (!z.requires_grad()) return;
  const auto gradients = torch::autograd::grad({z.sum()}, parameters, {}, c10::nullopt, false, /*allow_unused=*/true);
  for (size_t i = 0; i < gradients.size(); ++i)
    if (gradients[i].defined()) script_->frozen.insert(names[i]);
}

Tensor ScriptedSource::features(const Tensor& x, DropoutStream* dropout_stream) {
  script_->module.train(dropout_stream != nullptr);
  std::optional<SeededGenerator> seeded;
  if (dropout_stream) seeded.emplace(x.device(), dropout_stream->seed());
  return script_->checked_call(script_->last ? "forward" : "features", script_->writes_input ? x.clone() : x,
                               feature_width_);
}

Tensor ScriptedSource::classify(const Tensor& phi) const {
  if (script_->last) return at::linear(phi, script_->last->weight, script_->last->bias);
  return script_->checked_call("classify", phi, classes_);
}

TensorList ScriptedSource::backbone() const {
  TensorList list;
  const auto is_bypass = [&](const Tensor& tensor) {
    return script_->last && (tensor.is_same(script_->last->identity) || tensor.is_same(script_->last->zero));
  };
  for (const auto& parameter : script_->module.named_parameters()) {
    if (script_->frozen.count(parameter.name) > 0) continue;
    const bool trained = parameter.value.requires_grad() && !is_bypass(parameter.value);
    (trained ? list.parameters : list.buffers).push_back({"backbone." + parameter.name, parameter.value});
  }
  for (const auto& buffer : script_->module.named_buffers())
    list.buffers.push_back({"backbone." + buffer.name, buffer.value});
  return list;
}

TensorList ScriptedSource::classifier() const {
  TensorList list;
  if (script_->last) {
    list.parameters.push_back({"classifier.weight", script_->last->weight});
    if (script_->last->bias.defined()) list.parameters.push_back({"classifier.bias", script_->last->bias});
    return list;
  }
  for (const auto& parameter : script_->module.named_parameters())
    if (script_->frozen.count(parameter.name) > 0)
      list.parameters.push_back({"classifier." + parameter.name, parameter.value});
  return list;
}

std::string ScriptedSource::bytes() const {
  if (script_->last) script_->last->close();
  script_->module.eval();
  std::ostringstream stream;
  script_->module.save(stream);
  if (script_->last) script_->last->open();
  return stream.str();
}

}  // namespace tributary
