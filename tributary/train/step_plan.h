// Everything about a training step that the host decides: which pictures, how they are augmented and mixed, which
// dropout masks and which learning rate.
//
// It is packed into two tensors, so that two copies bring it to the device and a captured step (captured_steps.h) finds
// it in the same memory every time. Where the pictures do not lie on the device, a third tensor holds those of the
// step.
#pragma once

#include <vector>

#include "tributary/base/random.h"
#include "tributary/base/tensor.h"

namespace tributary {

class StepPlan {
 public:
  // `parts` are int64 or float32 tensors of any shape on the host; planner and step agree on what each means. `reals`
  // are single numbers. `dropout_streams` are the random streams of the forward passes.
  StepPlan(const std::vector<Tensor>& parts, const std::vector<double>& reals,
           const std::vector<Random>& dropout_streams);
  // Adds the pictures of the step, uint8 [n, h, w, 3] on the host.
  void carry(Tensor pictures) { pictures_ = std::move(pictures); }

  Tensor part(size_t number) const;
  size_t parts() const { return shapes_.size(); }
  Tensor real(size_t number) const { return exact_real(number).to(torch::kFloat32); }      // float []
  Tensor exact_real(size_t number) const { return reals_[static_cast<int64_t>(number)]; }  // double []
  // The keys of the dropout streams, int64 [streams].
  Tensor dropout_keys() const;
  // Undefined unless `carry` was called.
  const Tensor& pictures() const { return pictures_; }

  // Steps of equal shapes can share memory.
  const std::vector<std::vector<int64_t>>& shapes() const { return shapes_; }
  StepPlan on(torch::Device device) const;
  // Copies the values of a plan of the same shapes into the memory of this one.
  void assign(const StepPlan& other);

 private:
  StepPlan() = default;

  std::vector<std::vector<int64_t>> shapes_;
  std::vector<bool> is_real_;    // per part
  std::vector<int64_t> begins_;  // per part, in the tensor it lies in
  int64_t keys_ = 0;             // where the keys begin
  Tensor integers_;              // int64: parts, keys
  Tensor reals_;                 // float64: single numbers, then parts, which lose nothing in it
  Tensor pictures_;
};

}  // namespace tributary
