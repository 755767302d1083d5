#include "tributary/train/gradient_reduction.h"

namespace tributary {

void GradientReduction::begin(const std::vector<Tensor>& parameters) {
  if (!comm_ || pending_) return;
  torch::NoGradGuard no_grad;
  std::vector<Tensor> gradients, flat;
  for (const Tensor& parameter : parameters) {
    Tensor gradient = parameter.grad();
    if (gradient.defined() && !flat_view(gradient).defined()) gradient = gradient.contiguous();
    if (gradient.defined()) flat.push_back(flat_view(gradient));
    gradients.push_back(gradient);
  }
  sums_.assign(parameters.size(), Tensor());
  if (flat.empty()) return;
  const Tensor all = at::cat(flat);
  int64_t begin = 0;
  for (size_t i = 0; i < gradients.size(); ++i) {
    if (!gradients[i].defined()) continue;
    sums_[i] = all.as_strided(gradients[i].sizes(), gradients[i].strides(), begin);
    begin += gradients[i].numel();
  }
  pending_ = comm_->all_reduce_async(all);
}

std::vector<Tensor> GradientReduction::finish(const std::vector<Tensor>& parameters) {
  if (!comm_) {
    std::vector<Tensor> gradients;
    for (const Tensor& parameter : parameters) gradients.push_back(parameter.grad());
    return gradients;
  }
  begin(parameters);
  if (pending_) pending_->wait();
  pending_.reset();
  return std::move(sums_);
}

void GradientReduction::forget() {
  sums_.clear();
  pending_.reset();
}

}  // namespace tributary
