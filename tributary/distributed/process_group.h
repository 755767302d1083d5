// A Communicator between processes on one or more machines.
//
// Collectives run through c10d: Gloo on CPUs, NCCL on GPUs with one GPU per process. On a GPU they do not block the
// host: later work on the current stream sees the results. They can be captured in a CUDA graph (accelerator.h) if
// every asynchronous call is also waited for within the capture. If a rank is lost, collectives throw a LostPeer on the
// others (heartbeat.h).
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
  // Returns when all ranks have joined and passed a barrier. `device` is the device of this rank, see `device_of`.
  ProcessGroup(const RankInfo& rank_info, torch::Device device, const DistributedOptions& options);
  // Announces a regular exit. During stack unwinding, announces a failure instead, so that the other ranks exit, too;
  // except after a signal, on which all ranks agree by themselves (consensus.h).
  ~ProcessGroup() override;
  ProcessGroup(const ProcessGroup&) = delete;
  ProcessGroup& operator=(const ProcessGroup&) = delete;

  int64_t rank() const override;
  int64_t size() const override;
  // Tensors may have any dense layout, equal on all ranks. With NCCL, host tensors are copied through the GPU. The sum
  // of bools is their logical or.
  void all_reduce(Tensor& tensor) override;
  std::unique_ptr<Pending> all_reduce_async(Tensor tensor) override;
  void broadcast(Tensor& tensor, int64_t owner) override;
  Tensor all_gather(const Tensor& own) override;

  // Sets the advice at the end of the message about a lost rank.
  void advise(std::string advice);
  // Tells the other ranks why this rank exits.
  void fail(const std::string& message);

 private:
  struct Links;
  std::unique_ptr<Links> links_;
};

// The device of this rank: `device` itself on CPUs, the GPU with the local rank as its index on GPUs. Throws an
// InputError if the machine has too few GPUs.
torch::Device device_of(const RankInfo& rank_info, torch::Device device);

// Whether the program was built with the backend for such a device.
bool can_join(torch::Device device);
std::unique_ptr<ProcessGroup> join(const RankInfo& rank_info, torch::Device device, const DistributedOptions& options);

}  // namespace tributary
