// A command that several processes do together: started by one of them, or by torchrun, srun or mpirun.
#pragma once

#include <memory>
#include <string>

#include "tributary/base/options.h"
#include "tributary/checkpoint/shared_checkpointer.h"
#include "tributary/distributed/process_group.h"
#include "tributary/launch/rank_info.h"
#include "tributary/methods/method.h"
#include "tributary/model/ensemble.h"

namespace tributary::cli {

// Thrown by a command whose work other processes did: the exit code to end with.
struct ExitWith {
  int code = 0;
};

class DistributedSession {
 public:
  // Of commands that divide passes, and of those that only spread jobs.
  enum class Work { kPasses, kJobs };
  void declare(OptionTable& table, Work work = Work::kPasses);

  // Starts the processes that --processes asks for, waits for them and throws `ExitWith`; or finds out where this one
  // stands among others. Called when the options are known to be good, before any work.
  void begin();
  // Meets the others.
  void join(torch::Device device);

  // Null where there is nobody else.
  Communicator* comm() const { return process_group_.get(); }
  bool first() const { return rank_info_.rank == 0; }  // who alone writes
  // Only the first rank, once they have met.
  bool speaks() const { return first() || !process_group_; }
  // Tells the others why this one ends.
  void fail(const std::string& message) const;
  torch::Device own_device(torch::Device device) const {
    return rank_info_.given ? device_of(rank_info_, device) : device;
  }
  bool several() const { return rank_info_.given; }

  // What the first rank knows.
  bool agreed(bool own) const;
  // An InputError where ranks have found other numbers of `what`.
  void require_equal(int64_t count, const std::string& what) const;

  // Where the work is kept: in the first rank's folder, null on the others.
  Checkpointer& checkpointer(CheckpointFolder* own, const CheckpointOptions& options);

  // Divides the passes as the method and the flags have it.
  void shard(Ensemble& ensemble, Division division) const;
  void shard(SourceModel& model) const;

 private:
  enum class Divide { kAuto, kRows, kSources };

  DistributedOptions options_;
  Divide divide_ = Divide::kAuto;
  bool local_batch_norm_ = false;
  RankInfo rank_info_;
  std::unique_ptr<ProcessGroup> process_group_;
  std::unique_ptr<SharedCheckpointer> checkpointer_;
};

// The options of a run as its folder keeps them: on several ranks without the number of threads, so that any number of
// processes goes on with it.
Configuration config_text(const OptionTable& table, int64_t& threads, const DistributedSession& session);

}  // namespace tributary::cli
