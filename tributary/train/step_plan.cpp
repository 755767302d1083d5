#include "tributary/train/step_plan.h"

#include "tributary/device/device.h"

namespace tributary {

StepPlan::StepPlan(const std::vector<Tensor>& parts, const std::vector<double>& reals,
                   const std::vector<Random>& dropout_streams) {
  std::vector<Tensor> integers, numbers = {torch::tensor(reals, torch::kFloat64)};
  auto next_real = static_cast<int64_t>(reals.size());
  for (const Tensor& part : parts) {
    const bool real = part.is_floating_point();
    int64_t& next = real ? next_real : keys_;
    shapes_.push_back(part.sizes().vec());
    is_real_.push_back(real);
    begins_.push_back(next);
    next += part.numel();
    (real ? numbers : integers).push_back(real ? part.reshape({-1}).to(torch::kFloat64) : part.reshape({-1}));
  }
  std::vector<int64_t> keys;
  for (const Random& dropout_stream : dropout_streams) keys.push_back(static_cast<int64_t>(dropout_stream.key()));
  integers.push_back(torch::tensor(keys, torch::kInt64));
  integers_ = at::cat(integers);
  reals_ = at::cat(numbers);
}

Tensor StepPlan::part(size_t number) const {
  const std::vector<int64_t>& shape = shapes_[number];
  const int64_t begin = begins_[number], end = begin + c10::multiply_integers(shape);
  if (is_real_[number]) return reals_.slice(0, begin, end).view(shape).to(torch::kFloat32);
  return integers_.slice(0, begin, end).view(shape);
}

Tensor StepPlan::dropout_keys() const {
  return integers_.slice(0, keys_);
}

StepPlan StepPlan::on(torch::Device device) const {
  StepPlan moved = *this;
  moved.integers_ = upload(integers_, device);
  moved.reals_ = upload(reals_, device);
  if (pictures_.defined()) moved.pictures_ = upload(pictures_, device);
  return moved;
}

void StepPlan::assign(const StepPlan& other) {
  const auto copy = [](const Tensor& from, const Tensor& to) {
    to.copy_(to.is_cuda() && !from.is_pinned() ? from.pin_memory() : from, /*non_blocking=*/true);
  };
  copy(other.integers_, integers_);
  copy(other.reals_, reals_);
  if (pictures_.defined()) copy(other.pictures_, pictures_);
}

}  // namespace tributary
