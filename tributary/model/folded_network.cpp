#include "tributary/model/folded_network.h"

#include <algorithm>

#include "tributary/device/accelerator.h"

namespace tributary {
namespace {

// Per value, the layers that read it.
std::vector<std::vector<int>> readers_of(const std::vector<Layer>& layers) {
  std::vector<std::vector<int>> readers(layers.size() + 1);
  for (size_t i = 0; i < layers.size(); ++i)
    for (const int input : layers[i].inputs) readers[static_cast<size_t>(input)].push_back(static_cast<int>(i));
  return readers;
}

Conv2d with_norm(const Conv2d& conv, const BatchNorm& norm, torch::ScalarType type) {
  torch::NoGradGuard no_grad;
  const Tensor scale = norm.weight / (norm.running_var + norm.epsilon).sqrt();
  const Tensor before = conv.bias.defined() ? conv.bias - norm.running_mean : -norm.running_mean;
  Conv2d folded = conv;
  folded.weight = (conv.weight * scale.view({-1, 1, 1, 1})).to(type).contiguous(at::MemoryFormat::ChannelsLast);
  folded.bias = (before * scale + norm.bias).to(type);
  return folded;
}

}  // namespace

FoldedNetwork::FoldedNetwork(Network& network, torch::ScalarType type) : network_(network), type_(type) {
  const std::vector<Layer>& layers = network.layers();
  const auto readers = readers_of(layers);
  std::vector<bool> computed(layers.size() + 1);  // values that a step computes, or passes over
  for (int layer = 0; layer < network.last(); ++layer) {
    if (computed[static_cast<size_t>(layer) + 1]) continue;
    steps_.push_back(folded(layer, readers));
    for (int value = layer + 1, end = steps_.back().out;; value = readers[static_cast<size_t>(value)].front() + 1) {
      computed[static_cast<size_t>(value)] = true;
      if (value == end) break;
    }
  }
  find_last_reads();
}

FoldedNetwork::Step FoldedNetwork::folded(int layer, const std::vector<std::vector<int>>& readers) {
  const std::vector<Layer>& layers = network_.layers();
  Step step{layer, layer + 1};
  // The only layer that reads the step's output, or null.
  const auto next = [&]() -> const Layer* {
    const std::vector<int>& of_output = readers[static_cast<size_t>(step.out)];
    return of_output.size() == 1 ? &layers[static_cast<size_t>(of_output.front())] : nullptr;
  };
  const auto take_next = [&] { step.out = readers[static_cast<size_t>(step.out)].front() + 1; };
  const auto is_relu = [](const Layer* of) { return of && std::holds_alternative<Relu>(of->kind); };

  const auto* conv = std::get_if<Conv2d>(&layers[static_cast<size_t>(layer)].kind);
  const Layer* after = next();
  const auto* norm = after ? std::get_if<BatchNorm>(&after->kind) : nullptr;
  if (!conv || !norm) return step;
  step.folded = with_norm(*conv, *norm, type_);
  take_next();
  if (conv->same) return step;
  after = next();
  if (after && std::holds_alternative<Add>(after->kind)) {
    const int branch = step.out;
    const int other = after->inputs[after->inputs[0] == branch ? 1 : 0];
    // The other value must be there by now, and the ReLU follow: without it there is no kernel.
    const int sum = readers[static_cast<size_t>(branch)].front() + 1;
    const std::vector<int>& of_sum = readers[static_cast<size_t>(sum)];
    const bool then_relu = of_sum.size() == 1 && is_relu(&layers[static_cast<size_t>(of_sum.front())]);
    if (other > layer || !then_relu) return step;
    step.added = other;
    take_next();
    after = next();
  }
  step.relu = is_relu(after);
  if (step.relu) take_next();
  return step;
}

void FoldedNetwork::find_last_reads() {
  std::vector<int> last(static_cast<size_t>(network_.last()) + 1, -1);
  for (size_t i = 0; i < steps_.size(); ++i) {
    for (const int input : network_.layers()[static_cast<size_t>(steps_[i].layer)].inputs)
      last[static_cast<size_t>(input)] = static_cast<int>(i);
    if (steps_[i].added >= 0) last[static_cast<size_t>(steps_[i].added)] = static_cast<int>(i);
  }
  for (size_t value = 0; value < last.size(); ++value)
    if (last[value] >= 0) steps_[static_cast<size_t>(last[value])].last_reads.push_back(static_cast<int>(value));
}

Tensor FoldedNetwork::forward(const Tensor& x) const {
  std::vector<Tensor> values(static_cast<size_t>(network_.last()) + 1);
  values.front() = x;
  for (const Step& step : steps_) {
    Tensor& out = values[static_cast<size_t>(step.out)];
    if (!step.folded) {
      out = network_.apply(step.layer, values, nullptr);
    } else {
      const Conv2d& conv = *step.folded;
      const int input = network_.layers()[static_cast<size_t>(step.layer)].inputs.front();
      const Tensor in = values[static_cast<size_t>(input)].to(type_);
      out = step.relu ? conv_relu(in, conv.weight, conv.bias,
                                  step.added < 0 ? Tensor() : values[static_cast<size_t>(step.added)],
                                  {conv.stride, conv.padding, conv.groups})
                      : conv(in);
    }
    for (const int value : step.last_reads) values[static_cast<size_t>(value)] = Tensor();
  }
  return values.back();
}

}  // namespace tributary
