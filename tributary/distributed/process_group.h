// Communicator that are processes, on one machine or many.
//
// What one rank does with the others goes through c10d: Gloo on CPUs, NCCL on GPUs, where each process has a GPU of its
// own. On a GPU nothing here waits for the device: results are there for what is asked of the current stream next, and
// the calls can be recorded (accelerator.h) as long as what is begun is waited for within the recording.
//
// A rank that is lost ends the work of all with a LostPeer (watch.h).
#pragma once

#include <memory>
#include <string>

#include "tributary/base/options.h"
#include "tributary/comm/communicator.h"
#include "tributary/launch/rank_info.h"

namespace tributary {

struct DistributedOptions {
  int64_t processes = 0;          // to start on this machine; 0: this one only
  double heartbeat_timeout = 20;  // seconds without a heartbeat after which a rank counts as lost
  double rank_timeout = 1800;     // seconds after which a collective is given up: the longest that one rank may let the
                                  // others wait, such as for an evaluation
};
void declare(OptionTable& table, DistributedOptions& options);

class ProcessGroup : public Communicator {
 public:
  // Returns when all ranks are there and have worked together once. `device` is that of this rank: see `device_of`.
  ProcessGroup(const RankInfo& rank_info, torch::Device device, const DistributedOptions& options);
  // In good order a rank says goodbye. When an exception ends the work, the others are told to end theirs, unless this
  // rank was asked to stop: that is for all to agree on.
  ~ProcessGroup() override;
  ProcessGroup(const ProcessGroup&) = delete;
  ProcessGroup& operator=(const ProcessGroup&) = delete;

  int64_t rank() const override;
  int64_t size() const override;
  // Tensors may have any layout without gaps, the same on all ranks. Those of the host go through the GPU where the
  // ranks have one. The sum of bools is whether any is true.
  void all_reduce(Tensor& tensor) override;
  std::unique_ptr<Pending> all_reduce_async(Tensor tensor) override;
  void broadcast(Tensor& tensor, int64_t owner) override;
  Tensor all_gather(const Tensor& own) override;

  // What the sentence about a lost rank tells the reader to do.
  void advise(std::string advice);
  // Tells the others why this rank ends.
  void fail(const std::string& message);

 private:
  struct Links;
  std::unique_ptr<Links> links_;
};

// The device of this rank where the work is to be done on `device`: on GPUs, that of its number on this machine. An
// InputError where there are too few.
torch::Device device_of(const RankInfo& rank_info, torch::Device device);

// Whether this program was built with what joins processes on such devices.
bool can_join(torch::Device device);
std::unique_ptr<ProcessGroup> join(const RankInfo& rank_info, torch::Device device, const DistributedOptions& options);

}  // namespace tributary
