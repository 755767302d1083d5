#include "tributary/experiments/roofline.h"

#include <algorithm>
#include <cmath>

#include "tributary/device/device.h"
#include "tributary/experiments/synthetic.h"

namespace tributary {
namespace {

// Shape of a value: channels, and height and width (1 if flat; of tokens, the root of their number).
struct Extent {
  double channels, side;
  double count() const { return channels * side * side; }
};

double windows(double side, int64_t kernel, int64_t stride, int64_t padding) {
  const int64_t whole = (static_cast<int64_t>(side) + 2 * padding - kernel) / stride + 1;
  return static_cast<double>(whole);
}

// Visitor that records the cost of a layer and returns the shape of its output.
struct Measure {
  Extent in;
  bool first;     // needs no input gradient
  bool training;  // BatchNorm computes batch statistics
  LayerWork& work;
  const std::vector<Extent>& values;
  const std::vector<int>& inputs;

  Extent multiply(Extent out, double products) const {
    work.flops = 2 * products;
    work.values = in.count() + out.count();
    work.backward_flops = (first ? 1 : 2) * work.flops;
    work.backward_values = (first ? 1 : 2) * (in.count() + out.count());
    return out;
  }
  Extent move(Extent out, double forward, double backward) const {
    work.values = forward;
    work.backward_values = backward;
    return out;
  }

  Extent operator()(const Conv2d& layer) const {
    const int64_t kernel = layer.weight.size(2);
    const Extent out{static_cast<double>(layer.weight.size(0)), windows(in.side, kernel, layer.stride, layer.padding)};
    return multiply(out, out.side * out.side * static_cast<double>(layer.weight.numel()));
  }
  Extent operator()(const Linear& layer) const {
    return multiply({static_cast<double>(layer.weight.size(0)), in.side},
                    in.side * in.side * static_cast<double>(layer.weight.numel()));
  }
  // In training the input is read twice, for the statistics and for normalising.
  Extent operator()(const BatchNorm&) const { return move(in, (training ? 3 : 2) * in.count(), 5 * in.count()); }
  Extent operator()(const Relu&) const { return move(in, 2 * in.count(), 3 * in.count()); }
  Extent operator()(const MaxPool& pool) const {
    const Extent out{in.channels, windows(in.side, pool.kernel, pool.stride, pool.padding)};
    return move(out, in.count() + out.count(), in.count() + out.count());
  }
  Extent operator()(const AveragePool& pool) const {
    const Extent out{in.channels, static_cast<double>(pool.size)};
    return move(out, in.count() + out.count(), in.count() + out.count());
  }
  Extent operator()(const Add&) const { return move(in, 3 * in.count(), 3 * in.count()); }
  Extent operator()(const Flatten&) const { return {in.count(), 1}; }
  Extent operator()(const Dropout&) const { return move(in, 2 * in.count(), 2 * in.count()); }
  Extent operator()(const Activation&) const { return move(in, 2 * in.count(), 3 * in.count()); }
  Extent operator()(const WindowPool& pool) const {
    const Extent out{in.channels, windows(in.side, pool.size, pool.size, 0)};
    return move(out, in.count() + out.count(), in.count() + out.count());
  }
  Extent operator()(const Multiply&) const { return move(in, 3 * in.count(), 5 * in.count()); }
  Extent operator()(const Concat&) const {
    double channels = 0;
    for (const int input : inputs) channels += values[static_cast<size_t>(input)].channels;
    const Extent out{channels, in.side};
    return move(out, 2 * out.count(), 2 * out.count());
  }
  Extent operator()(const ChannelsLast&) const { return in; }
  Extent operator()(const ChannelsFirst&) const { return in; }
  Extent operator()(const MapTokens&) const { return in; }
  Extent operator()(const PatchMerge&) const {
    return move({4 * in.channels, std::ceil(in.side / 2)}, 2 * in.count(), 2 * in.count());
  }
  Extent operator()(const TokenPool& pool) const {
    return move({(pool.of == TokenPool::Of::kBoth ? 2 : 1) * in.channels, 1}, in.count(), in.count());
  }
  Extent operator()(const LayerNorm&) const { return move(in, 2 * in.count(), 4 * in.count()); }
  Extent operator()(const ChannelScale&) const { return move(in, 2 * in.count(), 4 * in.count()); }
  Extent operator()(const ResponseNorm&) const { return move(in, 3 * in.count(), 6 * in.count()); }
  Extent operator()(const TokenEmbedding& layer) const {
    double tokens = static_cast<double>(layer.position.size(1));
    if (layer.registers.defined()) tokens += static_cast<double>(layer.registers.size(1));
    const Extent out{in.channels, std::sqrt(tokens)};
    return move(out, 2 * out.count(), 2 * out.count());
  }
  Extent operator()(const Attention&) const { return attention(in.side * in.side); }
  Extent operator()(const WindowAttention& layer) const {
    return attention(static_cast<double>(layer.shape.window * layer.shape.window));
  }
  // Two projections, and products of every token with the `reach` tokens that it attends to.
  Extent attention(double reach) const {
    const double tokens = in.side * in.side;
    return multiply(in, tokens * (4 * in.channels * in.channels + 2 * reach * in.channels));
  }
};

// Seconds of `work` on the device, median of five.
template <typename Work>
double timed(torch::Device device, Work work) {
  std::vector<double> seconds;
  for (int i = 0; i < 6; ++i) {
    synchronise(device);
    seconds.push_back(seconds_of([&] {
      work();
      synchronise(device);
    }));
  }
  seconds.erase(seconds.begin());  // the first run includes allocation and algorithm selection
  return median(seconds);
}

}  // namespace

DevicePeak measure_peak(torch::Device device, bool bfloat16) {
  torch::NoGradGuard no_grad;
  const int64_t side = device.is_cuda() ? 8192 : 1024;
  const int64_t bytes = device.is_cuda() ? int64_t{1} << 30 : int64_t{1} << 27;
  const auto options = at::device(device).dtype(bfloat16 ? torch::kBFloat16 : torch::kFloat32);
  const Tensor a = torch::ones({side, side}, options), b = torch::ones({side, side}, options);
  Tensor product = torch::empty({side, side}, options);
  const Tensor from = torch::zeros({bytes / 4}, at::device(device).dtype(torch::kFloat32));
  const Tensor to = torch::empty_like(from);
  const double multiplying = timed(device, [&] { at::mm_out(product, a, b); });
  const double copying = timed(device, [&] { to.copy_(from); });
  const auto n = static_cast<double>(side);
  return {2 * n * n * n / multiplying, 2 * static_cast<double>(bytes) / copying};
}

std::vector<LayerWork> work_of(const Network& network, int64_t size, bool training) {
  std::vector<Extent> values = {{3, static_cast<double>(size)}};
  std::vector<LayerWork> work;
  for (const Layer& layer : network.layers()) {
    work.emplace_back();
    const Measure measure{values[static_cast<size_t>(layer.inputs.front())],
                          layer.inputs.front() == 0,
                          training,
                          work.back(),
                          values,
                          layer.inputs};
    values.push_back(std::visit(measure, layer.kind));
  }
  return work;
}

double roofline(const std::vector<LayerWork>& work, const DevicePeak& peak, int64_t bytes_per_value, bool backward) {
  const auto longer = [&](double flops, double values) {
    return std::max(flops / peak.flops, values * static_cast<double>(bytes_per_value) / peak.bytes);
  };
  double seconds = 0;
  for (const LayerWork& layer : work) {
    seconds += longer(layer.flops, layer.values);
    if (backward) seconds += longer(layer.backward_flops, layer.backward_values);
  }
  return 1 / seconds;
}

}  // namespace tributary
