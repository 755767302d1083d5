// Everything about a training step that the host decides: which pictures, where they are cut, how they are mixed, with
// which dropout and how large a step.
//
// It is packed into two tensors, so that one copy each brings it to the device, and a step that was recorded there
// (recorded_steps.h) finds it in the same place every time. Where the pictures do not lie on the device, a third holds
// those of the step.
#pragma once

#include <vector>

#include "tributary/base/random.h"
#include "tributary/base/tensor.h"

namespace tributary {

class StepPlan {
 public:
  // `parts` are whole numbers, int64 of any shape on the host; what each means is between those who plan and those who
  // do the step. `dropout_streams` are the streams of its forward passes.
  StepPlan(const std::vector<Tensor>& parts, const std::vector<float>& reals,
           const std::vector<Random>& dropout_streams);
  // Brings pictures along, uint8 [n, h, w, 3] on the host.
  void carry(Tensor pictures) { pictures_ = std::move(pictures); }

  Tensor part(size_t number) const;
  size_t parts() const { return shapes_.size(); }
  Tensor real(size_t number) const { return reals_[static_cast<int64_t>(number)]; }  // float []
  // The keys of the noises, int64 [noises].
  Tensor dropout_keys() const;
  // Undefined where none were brought along.
  const Tensor& pictures() const { return pictures_; }

  // Steps of equal shapes can share their memory.
  const std::vector<std::vector<int64_t>>& shapes() const { return shapes_; }
  StepPlan on(torch::Device device) const;
  // Takes over the values of a plan of the same shapes, in the memory that is there.
  void assign(const StepPlan& other);

 private:
  StepPlan() = default;

  std::vector<std::vector<int64_t>> shapes_;
  std::vector<int64_t> begins_;  // of every part, then of the keys
  Tensor integers_;              // int64: parts, keys
  Tensor reals_;                 // float32
  Tensor pictures_;
};

}  // namespace tributary
