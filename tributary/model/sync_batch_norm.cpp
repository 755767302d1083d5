#include "tributary/model/sync_batch_norm.h"

#include <ATen/core/LegacyTypeDispatch.h>
#include <torch/csrc/autograd/custom_function.h>

namespace tributary {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

std::vector<int64_t> all_but_channels(const Tensor& x) {
  std::vector<int64_t> dimensions = {0};
  for (int64_t i = 2; i < x.dim(); ++i) dimensions.push_back(i);
  return dimensions;
}

// A number a channel, to be combined with x.
Tensor along_channels(const Tensor& values, const Tensor& x) {
  std::vector<int64_t> shape(static_cast<size_t>(x.dim()), 1);
  shape[1] = values.size(0);
  return values.view(shape);
}

struct Statistics {
  Tensor mean, inverse_deviation;  // float [channels]
  Tensor count;                    // float []: values a channel on all ranks
};

// On a CPU: sums of values and squares in double precision, from which float32 loses nothing.
Statistics statistics_on_host(Communicator& comm, const Tensor& x, const BatchNormTensors& tensors) {
  const int64_t channels = x.size(1);
  const int64_t own = x.numel() / channels;
  const auto [variance, mean] = at::var_mean(x, all_but_channels(x), /*unbiased=*/false);
  const Tensor first = mean.to(torch::kFloat64), second = variance.to(torch::kFloat64) + first.square();
  Tensor sums = at::cat({first, second, torch::ones({1}, first.options())}) * static_cast<double>(own);
  comm.all_reduce(sums);
  const Tensor count = sums[2 * channels];
  const Tensor whole_mean = sums.narrow(0, 0, channels) / count;
  const Tensor whole_variance = (sums.narrow(0, channels, channels) / count - whole_mean.square()).clamp_min(0);
  if (tensors.running_mean.defined()) {
    // As LibTorch's own BatchNorm moves them: passes before this one, whose gradients are still to come, do not mind.
    const at::AutoDispatchBelowADInplaceOrView unnoticed;
    const auto move = [&](const Tensor& running, const Tensor& now) {
      running.copy_(running.to(torch::kFloat64) * (1 - tensors.momentum) + now * tensors.momentum);
    };
    move(tensors.running_mean, whole_mean);
    move(tensors.running_var, whole_variance * (count / (count - 1)));
  }
  return {whole_mean.to(torch::kFloat32), (whole_variance + tensors.epsilon).rsqrt().to(torch::kFloat32),
          count.to(torch::kFloat32)};
}

// On a GPU LibTorch has the kernels.
Statistics statistics_on_device(Communicator& comm, const Tensor& x, const BatchNormTensors& tensors) {
  const int64_t channels = x.size(1);
  const auto [mean, inverse_deviation] = at::batch_norm_stats(x, tensors.epsilon);
  const Tensor own = torch::full({1}, x.numel() / channels, mean.options());
  const Tensor all = comm.all_gather(at::cat({mean, inverse_deviation, own}));
  const Tensor counts = all.select(1, 2 * channels).contiguous();
  const auto [whole_mean, whole_inverse] = at::batch_norm_gather_stats_with_counts(
      x, all.narrow(1, 0, channels).contiguous(), all.narrow(1, channels, channels).contiguous(), tensors.running_mean,
      tensors.running_var, tensors.momentum, tensors.epsilon, counts);
  return {whole_mean, whole_inverse, counts.sum()};
}

class SharedBatchNorm : public torch::autograd::Function<SharedBatchNorm> {
 public:
  static Tensor forward(AutogradContext* context, const Tensor& x, const Tensor& weight, const Tensor& bias,
                        Communicator* comm, const BatchNormTensors* tensors) {
    const bool device = x.is_cuda();
    const Statistics all = device ? statistics_on_device(*comm, x, *tensors) : statistics_on_host(*comm, x, *tensors);
    context->save_for_backward({x, weight, all.mean, all.inverse_deviation, all.count});
    context->saved_data["ranks"] = reinterpret_cast<int64_t>(comm);
    if (device) return at::batch_norm_elemt(x, weight, bias, all.mean, all.inverse_deviation, tensors->epsilon);
    const Tensor scale = weight * all.inverse_deviation;
    return x * along_channels(scale, x) + along_channels(bias - all.mean * scale, x);
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const variable_list saved = context->get_saved_variables();
    const Tensor &x = saved[0], &weight = saved[1], &mean = saved[2], &inverse_deviation = saved[3], &count = saved[4];
    // NOLINTNEXTLINE(performance-no-int-to-ptr): what is saved can be a number but not a pointer
    auto& comm = *reinterpret_cast<Communicator*>(context->saved_data["ranks"].toInt());
    const int64_t channels = x.size(1);
    if (x.is_cuda()) {
      const Tensor slope = gradients[0].contiguous(x.suggest_memory_format());
      const auto [sum, sum_with_x, of_weight, of_bias] =
          at::batch_norm_backward_reduce(slope, x, mean, inverse_deviation, weight, true, true, true);
      Tensor sums = at::cat({sum, sum_with_x});
      comm.all_reduce(sums);
      const Tensor counts = count.to(torch::kInt32).view({1});
      const Tensor of_x =
          at::batch_norm_backward_elemt(slope, x, mean, inverse_deviation, weight, sums.narrow(0, 0, channels),
                                        sums.narrow(0, channels, channels), counts);
      return {of_x, of_weight, of_bias, Tensor(), Tensor()};
    }
    const Tensor& slope = gradients[0];
    const std::vector<int64_t> dimensions = all_but_channels(x);
    const Tensor normal = (x - along_channels(mean, x)) * along_channels(inverse_deviation, x);
    const Tensor of_bias = slope.sum(dimensions), of_weight = (slope * normal).sum(dimensions);
    Tensor sums = at::cat({of_bias, of_weight}).to(torch::kFloat64);
    comm.all_reduce(sums);
    const Tensor means = (sums / count.to(torch::kFloat64)).to(torch::kFloat32);
    const Tensor of_x = (slope - along_channels(means.narrow(0, 0, channels), x) -
                         normal * along_channels(means.narrow(0, channels, channels), x)) *
                        along_channels(weight * inverse_deviation, x);
    return {of_x, of_weight, of_bias, Tensor(), Tensor()};
  }
};

}  // namespace

Tensor shared_batch_norm(Communicator& comm, const Tensor& x, const BatchNormTensors& tensors) {
  return SharedBatchNorm::apply(x, tensors.weight, tensors.bias, &comm, &tensors);
}

}  // namespace tributary
