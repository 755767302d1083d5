// Adam (Kingma and Ba, 2015), as torch.optim.Adam computes it.
//
// Steps may be captured in CUDA graphs. So the step counter of the bias correction lies on the device, and a step can
// be switched off by an `active` of zero: then nothing moves, not even the counter.
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
  // Moments are created on the parameters' device, so these must not move later.
  Adam(const std::vector<AdamGroup>& groups, AdamOptions options);

  // All parameters, group by group: the order of the gradients that `step` takes.
  const std::vector<Tensor>& parameters() const { return parameters_; }

  // Its own state from step to step: moments and the step counter.
  NamedTensors state() const;

  // One step with one gradient per parameter. `factor`, float [] on the device, multiplies the rates. If `active`,
  // float
  // [] too, is given and zero, parameters and moments do not change by a bit.
  void step(const std::vector<Tensor>& gradients, const Tensor& factor = {}, const Tensor& active = {});

 private:
  // Moments of a group as one vector: few launches for many tensors.
  struct Group {
    size_t begin, end;     // in parameters_
    Tensor first, second;  // float [number of values in the group]
    double rate;
  };

  std::vector<Tensor> parameters_;
  std::vector<Group> groups_;
  AdamOptions options_;
  Tensor steps_;  // double []; in float the correction of the first steps would be off by 1e-5
};

}  // namespace tributary
