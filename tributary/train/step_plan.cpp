#include "tributary/train/step_plan.h"

#include "tributary/device/device.h"

namespace tributary {

StepPlan::StepPlan(const std::vector<Tensor>& parts, const std::vector<float>& reals,
                   const std::vector<Random>& dropout_streams) {
  std::vector<Tensor> flat;
  int64_t begin = 0;
  for (const Tensor& part : parts) {
    shapes_.push_back(part.sizes().vec());
    begins_.push_back(begin);
    begin += part.numel();
    flat.push_back(part.reshape({-1}));
  }
  begins_.push_back(begin);
  std::vector<int64_t> keys;
  for (const Random& dropout_stream : dropout_streams) keys.push_back(static_cast<int64_t>(dropout_stream.key()));
  flat.push_back(torch::tensor(keys, torch::kInt64));
  integers_ = at::cat(flat);
  reals_ = torch::tensor(reals, torch::kFloat32);
}

Tensor StepPlan::part(size_t number) const {
  return integers_.slice(0, begins_[number], begins_[number + 1]).view(shapes_[number]);
}

Tensor StepPlan::dropout_keys() const {
  return integers_.slice(0, begins_.back());
}

StepPlan StepPlan::on(torch::Device device) const {
  StepPlan moved;
  moved.shapes_ = shapes_;
  moved.begins_ = begins_;
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
