#include "tributary/run/distributed_session.h"

#include <fmt/format.h>

#include <utility>

#include "tributary/base/error.h"
#include "tributary/base/memory.h"
#include "tributary/launch/launcher.h"

namespace tributary {
namespace {

constexpr double kJobTimeout = 30 * 24 * 3600.0;  // seconds that idle ranks wait for the others

}  // namespace

void DistributedSession::declare(OptionTable& table, Work work) {
  if (work == Work::kJobs) options_.rank_timeout = kJobTimeout;
  tributary::declare(table, options_);
  if (work != Work::kPasses) return;
  table
      .choice(
          "scale", "shard", &shard_by_,
          {{"auto", ShardBy::kAuto}, {"rows", ShardBy::kRows}, {"sources", ShardBy::kSources}},
          "what to split between processes: the rows of every batch, or the sources; auto splits the sources if they "
          "divide evenly and the method trains them jointly")
      .alias("divide")
      .transient();
  table.flag(
      "scale", "local_batch_norm", &local_batch_norm_,
      "compute BatchNorm statistics per process instead of per batch: faster, but the result depends on the number "
      "of processes");
}

void DistributedSession::begin() {
  rank_info_ = read_rank_info();
  if (options_.processes > 1 && !rank_info_.given) {
    require_memory_for_processes(options_.processes);
    throw ExitWith{launch(own_launch(options_.processes))};
  }
}

void DistributedSession::join(torch::Device device) {
  if (rank_info_.given) process_group_ = tributary::join(rank_info_, device, options_);
}

void DistributedSession::fail(const std::string& message) const {
  if (process_group_) process_group_->fail(message);
}

bool DistributedSession::agreed(bool own) const {
  if (!process_group_) return own;
  Tensor value = torch::tensor({static_cast<int64_t>(own)}, torch::kInt64);
  process_group_->broadcast(value, 0);
  return value.item<int64_t>() != 0;
}

void DistributedSession::require_equal(int64_t count, const std::string& what) const {
  if (!process_group_) return;
  const Tensor all = process_group_->all_gather(torch::tensor({count}, torch::kInt64)).cpu();
  for (int64_t rank = 1; rank < process_group_->size(); ++rank)
    if (const auto other = all[rank].item<int64_t>(), here = all[0].item<int64_t>(); other != here)
      input_error("{} has {} pictures for rank 0 and {} for rank {}; all ranks must see the same files", what, here,
                  other, rank);
}

Checkpointer& DistributedSession::checkpointer(CheckpointFolder* own, const CheckpointOptions& options) {
  if (!process_group_) return *own;
  checkpointer_ = std::make_unique<SharedCheckpointer>(*process_group_, own, options);
  return *checkpointer_;
}

void DistributedSession::shard(Ensemble& ensemble, SupportedSharding supported) const {
  if (!process_group_) return;
  const bool even = supported == SupportedSharding::kEither && ensemble.size() % process_group_->size() == 0;
  const bool by_sources =  // not with a student, which is trained alone first
      !ensemble.has_student &&
      (shard_by_ == ShardBy::kSources || (shard_by_ == ShardBy::kAuto && even && process_group_->size() > 1));
  ensemble.shard(*process_group_,
                 supported == SupportedSharding::kNone ? Sharding::By::kNothing
                 : by_sources                          ? Sharding::By::kSources
                                                       : Sharding::By::kRows,
                 !local_batch_norm_);
}

void DistributedSession::shard(SourceModel& model) const {
  if (process_group_) model.shard({process_group_.get(), Sharding::By::kRows, 0, !local_batch_norm_});
}

Configuration run_configuration(const OptionTable& table, int64_t& threads, const DistributedSession& session) {
  const int64_t own = session.comm() ? std::exchange(threads, 0) : threads;
  Configuration config = table.configuration();
  threads = own;
  return config;
}

}  // namespace tributary
