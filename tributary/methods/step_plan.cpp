#include "tributary/methods/step_plan.h"

#include "tributary/model/device.h"

namespace tributary {
namespace {

constexpr int64_t kCutNumbers = 4;  // top, left, mirrored, grey

}  // namespace

StepPlan::StepPlan(const Tensor& confident, const Tensor& unconfident, int64_t sources, const DeviceImages& images,
                   const Augmentation& augmentation, const Random (&augment)[2], Random mixing, const Random& stream,
                   double rate_factor)
    : shape_{confident.size(0), unconfident.defined() ? unconfident.size(0) : 0, sources} {
  const auto ratio = static_cast<float>(mixing.uniform());
  const Tensor permutation = torch::tensor(mixing.permutation(shape_.confident), torch::kInt64);
  Tensor keys = torch::empty({sources * kStepPasses}, torch::kInt64);
  for (int64_t j = 0; j < sources; ++j)
    for (int64_t pass = 0; pass < kStepPasses; ++pass)
      keys.data_ptr<int64_t>()[j * kStepPasses + pass] =
          static_cast<int64_t>(stream.child(static_cast<uint64_t>(j)).child(static_cast<uint64_t>(pass)).key());
  std::vector<Tensor> parts = {confident};
  if (unconfident.defined()) parts.push_back(unconfident);
  parts.push_back(permutation);
  parts.push_back(images.draw_cut(shape_.confident, augmentation, augment[0]).view({-1}));
  if (unconfident.defined()) parts.push_back(images.draw_cut(shape_.unconfident, augmentation, augment[1]).view({-1}));
  parts.push_back(keys);
  integers_ = at::cat(parts);
  reals_ = torch::tensor({ratio, static_cast<float>(rate_factor)});
}

StepPlan StepPlan::on(torch::Device device) const {
  StepPlan moved;
  moved.shape_ = shape_;
  moved.integers_ = upload(integers_, device);
  moved.reals_ = upload(reals_, device);
  return moved;
}

void StepPlan::assign(const StepPlan& other) {
  const auto copy = [](const Tensor& from, const Tensor& to) {
    to.copy_(to.is_cuda() ? from.pin_memory() : from, /*non_blocking=*/true);
  };
  copy(other.integers_, integers_);
  copy(other.reals_, reals_);
}

Cut StepPlan::confident_cut() const {
  return part(total() + shape_.confident, kCutNumbers * shape_.confident).view({-1, kCutNumbers});
}

Cut StepPlan::unconfident_cut() const {
  const int64_t begin = total() + (1 + kCutNumbers) * shape_.confident;
  return part(begin, kCutNumbers * shape_.unconfident).view({-1, kCutNumbers});
}

Tensor StepPlan::noise_key(int64_t source, StepPass pass) const {
  const int64_t begin = total() + shape_.confident + kCutNumbers * total();
  return integers_[begin + source * kStepPasses + static_cast<int64_t>(pass)];
}

}  // namespace tributary
