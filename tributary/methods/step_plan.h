// Everything about a training step that the host decides: which pictures, where they are cut, how they are mixed, with
// which dropout and how large a step.
//
// It is packed into two tensors, so that one copy each brings it to the device, and a step that was recorded there
// (model/accelerator.h) finds it in the same place every time.
#pragma once

#include "tributary/base/random.h"
#include "tributary/train/batches.h"

namespace tributary {

// The forward passes of a source within a step, in their order.
enum class StepPass : uint64_t { kMixed = 0, kConfident = 1, kUnconfident = 2 };
constexpr int64_t kStepPasses = 3;

struct StepShape {
  int64_t confident = 0, unconfident = 0;  // pictures; no unconfident ones where too few are left
  int64_t sources = 0;
  auto operator<=>(const StepShape&) const = default;
};

class StepPlan {
 public:
  // `confident` and `unconfident` are positions in the round's selection, on the host; the second may be undefined.
  // `stream` is the step's dropout, `augment` and `mixing` its other draws.
  StepPlan(const Tensor& confident, const Tensor& unconfident, int64_t sources, const DeviceImages& images,
           const Augmentation& augmentation, const Random (&augment)[2], Random mixing, const Random& stream,
           double rate_factor);

  const StepShape& shape() const { return shape_; }
  StepPlan on(torch::Device device) const;
  // Takes over the values of a plan of the same shape, in the memory that is there.
  void assign(const StepPlan& other);

  Tensor confident() const { return part(0, shape_.confident); }
  Tensor unconfident() const { return part(shape_.confident, shape_.unconfident); }
  Tensor permutation() const { return part(total(), shape_.confident); }
  Cut confident_cut() const;
  Cut unconfident_cut() const;
  Tensor ratio() const { return reals_[0]; }
  Tensor rate_factor() const { return reals_[1]; }
  Tensor noise_key(int64_t source, StepPass pass) const;

 private:
  StepPlan() = default;
  int64_t total() const { return shape_.confident + shape_.unconfident; }
  Tensor part(int64_t begin, int64_t count) const { return integers_.narrow(0, begin, count); }

  StepShape shape_;
  Tensor integers_;  // int64: positions, permutation, cuts, keys
  Tensor reals_;     // float32: mixing ratio, rate factor
};

}  // namespace tributary
