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

// Reshapes values [channels] to broadcast against x.
Tensor along_channels(const Tensor& values, const Tensor& x) {
  std::vector<int64_t> shape(static_cast<size_t>(x.dim()), 1);
  shape[1] = values.size(0);
  return values.view(shape);
}

struct Statistics {
  Tensor mean, inverse_std;  // float [channels]
  Tensor count;              // float []: values per channel on all ranks
};

// CPU: sums of values and squares in double precision, so that the float32 result is not affected by cancellation.
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
    // Like LibTorch's own BatchNorm, update without bumping the version counter: earlier passes, whose backward is
    // still to come, may have saved the running statistics.
    const at::AutoDispatchBelowADInplaceOrView no_version_bump;
    const auto update = [&](const Tensor& running, const Tensor& current) {
      running.copy_(running.to(torch::kFloat64) * (1 - tensors.momentum) + current * tensors.momentum);
    };
    update(tensors.running_mean, whole_mean);
    update(tensors.running_var, whole_variance * (count / (count - 1)));
  }
  return {whole_mean.to(torch::kFloat32), (whole_variance + tensors.epsilon).rsqrt().to(torch::kFloat32),
          count.to(torch::kFloat32)};
}

// GPU: LibTorch's SyncBatchNorm kernels.
Statistics statistics_on_device(Communicator& comm, const Tensor& x, const BatchNormTensors& tensors) {
  const int64_t channels = x.size(1);
  const auto [mean, inverse_std] = at::batch_norm_stats(x, tensors.epsilon);
  const Tensor own = torch::full({1}, x.numel() / channels, mean.options());
  const Tensor all = comm.all_gather(at::cat({mean, inverse_std, own}));
  const Tensor counts = all.select(1, 2 * channels).contiguous();
  const auto [whole_mean, whole_inverse] = at::batch_norm_gather_stats_with_counts(
      x, all.narrow(1, 0, channels).contiguous(), all.narrow(1, channels, channels).contiguous(), tensors.running_mean,
      tensors.running_var, tensors.momentum, tensors.epsilon, counts);
  return {whole_mean, whole_inverse, counts.sum()};
}

class SyncBatchNorm : public torch::autograd::Function<SyncBatchNorm> {
 public:
  static Tensor forward(AutogradContext* context, const Tensor& x, const Tensor& weight, const Tensor& bias,
                        Communicator* comm, const BatchNormTensors* tensors) {
    const bool device = x.is_cuda();
    const Statistics all = device ? statistics_on_device(*comm, x, *tensors) : statistics_on_host(*comm, x, *tensors);
    context->save_for_backward({x, weight, all.mean, all.inverse_std, all.count});
    context->saved_data["comm"] = reinterpret_cast<int64_t>(comm);
    if (device) return at::batch_norm_elemt(x, weight, bias, all.mean, all.inverse_std, tensors->epsilon);
    const Tensor scale = weight * all.inverse_std;
    return x * along_channels(scale, x) + along_channels(bias - all.mean * scale, x);
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const variable_list saved = context->get_saved_variables();
    const Tensor &x = saved[0], &weight = saved[1], &mean = saved[2], &inverse_std = saved[3], &count = saved[4];
    // NOLINTNEXTLINE(performance-no-int-to-ptr): saved_data holds integers but no pointers
    auto& comm = *reinterpret_cast<Communicator*>(context->saved_data["comm"].toInt());
    const int64_t channels = x.size(1);
    if (x.is_cuda()) {
      const Tensor grad_output = gradients[0].contiguous(x.suggest_memory_format());
      const auto [sum, sum_with_x, grad_weight, grad_bias] =
          at::batch_norm_backward_reduce(grad_output, x, mean, inverse_std, weight, true, true, true);
      Tensor sums = at::cat({sum, sum_with_x});
      comm.all_reduce(sums);
      const Tensor counts = count.to(torch::kInt32).view({1});
      const Tensor grad_x =
          at::batch_norm_backward_elemt(grad_output, x, mean, inverse_std, weight, sums.narrow(0, 0, channels),
                                        sums.narrow(0, channels, channels), counts);
      return {grad_x, grad_weight, grad_bias, Tensor(), Tensor()};
    }
    const Tensor& grad_output = gradients[0];
    const std::vector<int64_t> dimensions = all_but_channels(x);
    const Tensor normal = (x - along_channels(mean, x)) * along_channels(inverse_std, x);
    const Tensor grad_bias = grad_output.sum(dimensions), grad_weight = (grad_output * normal).sum(dimensions);
    Tensor sums = at::cat({grad_bias, grad_weight}).to(torch::kFloat64);
    comm.all_reduce(sums);
    const Tensor means = (sums / count.to(torch::kFloat64)).to(torch::kFloat32);
    const Tensor grad_x = (grad_output - along_channels(means.narrow(0, 0, channels), x) -
                           normal * along_channels(means.narrow(0, channels, channels), x)) *
                          along_channels(weight * inverse_std, x);
    return {grad_x, grad_weight, grad_bias, Tensor(), Tensor()};
  }
};

}  // namespace

Tensor sync_batch_norm(Communicator& comm, const Tensor& x, const BatchNormTensors& tensors) {
  return SyncBatchNorm::apply(x, tensors.weight, tensors.bias, &comm, &tensors);
}

}  // namespace tributary
