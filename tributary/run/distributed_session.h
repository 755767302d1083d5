// One command on several processes, started by one of them (--processes) or by torchrun, srun or mpirun.
//
// A session of a single process needs no set-up: a default-constructed one is the first and only rank.
#pragma once

#include <memory>
#include <string>

#include "tributary/base/options.h"
#include "tributary/checkpoint/shared_checkpointer.h"
#include "tributary/distributed/process_group.h"
#include "tributary/launch/rank_info.h"
#include "tributary/methods/method.h"
#include "tributary/model/ensemble.h"

namespace tributary {

// Thrown by the launcher after its processes have exited, with the exit code of the command.
struct ExitWith {
  int code = 0;
};

class DistributedSession {
 public:
  // Commands of kPasses split training passes between processes; those of kJobs distribute whole jobs.
  enum class Work { kPasses, kJobs };
  void declare(OptionTable& table, Work work = Work::kPasses);

  // Starts the processes that --processes asks for, waits for them and throws `ExitWith`; or reads this process's rank
  // from the environment. Call it after the options were checked and before any work.
  void begin();
  // Joins the process group.
  void join(torch::Device device);

  Communicator* comm() const { return process_group_.get(); }  // null for a single process
  bool first() const { return rank_info_.rank == 0; }          // only this rank writes files
  // Whether this rank prints errors: all ranks until they have joined, then the first only.
  bool speaks() const { return first() || !process_group_; }
  // Tells the other ranks why this one exits.
  void fail(const std::string& message) const;
  torch::Device own_device(torch::Device device) const {
    return rank_info_.given ? device_of(rank_info_, device) : device;
  }
  bool several() const { return rank_info_.given; }

  // The value of the first rank.
  bool agreed(bool own) const;
  // InputError if the ranks found different numbers of pictures in `what`.
  void require_equal(int64_t count, const std::string& what) const;

  // The checkpointer of all ranks. `own` is the folder of the first rank and null on the others.
  Checkpointer& checkpointer(CheckpointFolder* own, const CheckpointOptions& options);

  // Shards the training passes as the method and the options ask for.
  void shard(Ensemble& ensemble, SupportedSharding supported) const;
  void shard(SourceModel& model) const;

 private:
  enum class ShardBy { kAuto, kRows, kSources };

  DistributedOptions options_;
  ShardBy shard_by_ = ShardBy::kAuto;
  bool local_batch_norm_ = false;
  RankInfo rank_info_;
  std::unique_ptr<ProcessGroup> process_group_;
  std::unique_ptr<SharedCheckpointer> checkpointer_;
};

// The options of a run as its folder records them. Several ranks record no number of threads, so that any number of
// processes can resume the run. `threads` is the declared field.
Configuration run_configuration(const OptionTable& table, int64_t& threads, const DistributedSession& session);

}  // namespace tributary
