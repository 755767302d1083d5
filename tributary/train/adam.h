// Adam (Kingma and Ba, 2015), as torch.optim.Adam computes it.
//
// Steps may be recorded on a GPU and then repeated, so the counter behind the bias correction lies on the device, and a
// step that must not take place yet is one with an `active` of zero: nothing moves, not even the counter.
#pragma once

#include <vector>

#include "tributary/model/layers.h"

namespace tributary {

struct AdamOptions {
  double beta1 = 0.9, beta2 = 0.999;
  double epsilon = 1e-8;
};

// Parameters that share a learning rate.
struct AdamGroup {
  NamedTensors parameters;
  double rate;
};

class Adam {
 public:
  // The parameters must be where they stay: their moments lie on the same device.
  Adam(const std::vector<AdamGroup>& groups, AdamOptions options);

  // All of them, group by group: the order of the gradients that `step` takes.
  const std::vector<Tensor>& parameters() const { return parameters_; }

  // What it keeps from step to step, beside the parameters.
  NamedTensors state() const;

  // One step with a gradient for every parameter. Rates are multiplied with `factor`, float [] on the device. Where
  // `active`, float [] too, is given and zero, parameters and moments stay as they are to the last bit.
  void step(const std::vector<Tensor>& gradients, const Tensor& factor = {}, const Tensor& active = {});

 private:
  // Moments of a group as one vector: few launches for many tensors.
  struct Group {
    size_t begin, end;     // in parameters_
    Tensor first, second;  // float [all numbers of the group]
    double rate;
  };

  std::vector<Tensor> parameters_;
  std::vector<Group> groups_;
  AdamOptions options_;
  Tensor steps_;  // double []; in float the correction of the first steps would be off by 1e-5
};

}  // namespace tributary
