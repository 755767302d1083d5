// Training steps: done eagerly on a CPU, recorded and repeated on a GPU.
//
// A step of many small kernels costs a GPU more in launches than in work. Steps of one shape are therefore recorded
// after a few eager ones and then repeated as a whole, with all dropout masks drawn together. Both ways run the same
// code on the same numbers.
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
  // Does the step that a plan on the device describes, with a noise for each of its keys; returns what is to be known
  // of it, a tensor on the device.
  using Step = std::function<Tensor(const StepPlan& plan, std::vector<DropoutStream>& dropout_stream)>;

  // Nothing is recorded where that is not possible, or where `cuda_graph` says so.
  CapturedSteps(torch::Device device, bool cuda_graph, Step step);

  // To be called within an OwnStream. Steps of unusual shapes are recorded too, but not made the fastest possible.
  Tensor run(const StepPlan& plan, bool usual = true);

  // Forgets the unusual ones, and frees their memory.
  void forget_rare_shapes();

 private:
  struct Captured {
    bool usual = true;
    int eager = 0;  // times it was done eagerly
    std::optional<DropoutMasks> masks;
    std::optional<StepPlan> plan;
    Tensor result;
    CudaGraph work;
  };

  torch::Device device_;
  bool cuda_graph_;
  Step step_;
  std::map<std::vector<std::vector<int64_t>>, Captured> captured_;
};

}  // namespace tributary
