// Stochastic gradient descent with momentum and weight decay, as torch.optim.SGD computes it.
#pragma once

#include <string>
#include <vector>

#include "tributary/base/options.h"
#include "tributary/model/layers.h"
#include "tributary/train/gradient_reduction.h"

namespace tributary {

struct SgdOptions {
  double momentum = 0.9;
  double weight_decay = 1e-3;  // on every parameter, biases and BatchNorm included
  bool nesterov = true;
};

// Declares momentum, weight decay and Nesterov in `section`.
void declare(OptionTable& table, const std::string& section, SgdOptions& options);

// Parameters that share a learning rate.
struct SgdGroup {
  NamedTensors parameters;
  double rate;
  double clip = 0;  // largest norm of the group's gradient; 0: any
};

class Sgd {
 public:
  Sgd(std::vector<SgdGroup> groups, SgdOptions options);

  void zero_gradients();
  // Starts to sum the gradients of a group over the ranks that share its passes, asynchronously; they must be complete.
  // `step` does this for all other groups.
  void begin_reduction(size_t group);
  // One step with every group's rate times `factor`. Momentum persists from step to step.
  void step(double factor);
  // The same with a factor that lies on the device, float [].
  void step(const Tensor& factor);

  // Its own state from step to step: momentum.
  NamedTensors state() const;

 private:
  struct Group {
    std::vector<Tensor> parameters, velocity;
    double rate;
    double clip = 0;
    GradientReduction sums{};
    int64_t owner = -1;  // of all its parameters
  };
  // Calls update(rate, values, slopes, velocity) per group, with the parameters that have a gradient.
  template <typename Update>
  void each_group(Update update);

  std::vector<Group> groups_;
  SgdOptions options_;
};

}  // namespace tributary
