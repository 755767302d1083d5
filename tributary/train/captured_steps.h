// Training steps: run eagerly on a CPU, captured in CUDA graphs and replayed on a GPU.
//
// A step of many small kernels costs a GPU more in launches than in work. Steps of one shape are therefore captured
// after a few eager ones and then replayed, with all dropout masks drawn together. Eager and captured steps run the
// same code on the same numbers.
#pragma once

#include <functional>
#include <map>
#include <optional>

#include "tributary/device/accelerator.h"
#include "tributary/device/dropout_masks.h"
#include "tributary/train/step_plan.h"

namespace tributary {

class CapturedSteps {
 public:
  // Runs the step of a plan on the device, with one dropout stream per key of the plan. Returns its losses, a tensor on
  // the device.
  using Step = std::function<Tensor(const StepPlan& plan, std::vector<DropoutStream>& dropout_stream)>;

  // Captures nothing if the device cannot, or if `cuda_graph` is false.
  CapturedSteps(torch::Device device, bool cuda_graph, Step step);

  // To be called within an OwnStream. Steps of rare shapes (`usual` false) are captured too, but without a search for
  // the fastest algorithms.
  Tensor run(const StepPlan& plan, bool usual = true);

  // Drops the graphs of rare shapes and frees their memory.
  void forget_rare_shapes();

 private:
  struct Captured {
    bool usual = true;
    int eager = 0;  // eager runs so far
    std::optional<DropoutMasks> masks;
    std::optional<StepPlan> plan;
    Tensor result;
    CudaGraph work;
  };

  Tensor run_eagerly(const StepPlan& plan, Captured& captured);
  // Drops the graphs if too little memory is free for an eager step beside them.
  void make_room();

  torch::Device device_;
  bool cuda_graph_;
  Step step_;
  int64_t eager_bytes_ = 0;  // that an eager step took at most
  std::map<std::vector<std::vector<int64_t>>, Captured> captured_;
};

}  // namespace tributary
