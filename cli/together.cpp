#include "cli/together.h"

#include <fmt/format.h>

#include <utility>

#include "tributary/base/error.h"
#include "tributary/scale/launch.h"

namespace tributary::cli {
namespace {

constexpr double kLongest = 30 * 24 * 3600.0;  // seconds that ranks without a job wait for the others

}  // namespace

void Together::declare(OptionTable& table, Work work) {
  if (work == Work::kJobs) options_.rank_timeout = kLongest;
  tributary::declare(table, options_);
  if (work != Work::kPasses) return;
  table
      .choice(
          "scale", "divide", &divide_,
          {{"auto", Divide::kAuto}, {"rows", Divide::kRows}, {"sources", Divide::kSources}},
          "what several processes divide: the pictures of every batch, or the sources; auto takes the sources where "
          "all get as many and the method moves them together")
      .transient();
  table.flag("scale", "local_batch_norm", &local_batch_norm_,
             "BatchNorm takes the statistics of a process's own pictures instead of the batch's: faster, and another "
             "result with every number of processes");
}

void Together::begin() {
  place_ = read_place();
  if (options_.processes > 1 && !place_.given) throw Ended{launch(own_launch(options_.processes))};
}

void Together::join(torch::Device device) {
  if (place_.given) world_ = tributary::join(place_, device, options_);
}

void Together::fail(const std::string& message) const {
  if (world_) world_->fail(message);
}

bool Together::agreed(bool own) const {
  if (!world_) return own;
  Tensor value = torch::tensor({static_cast<int64_t>(own)}, torch::kInt64);
  world_->broadcast(value, 0);
  return value.item<int64_t>() != 0;
}

void Together::require_equal(int64_t count, const std::string& what) const {
  if (!world_) return;
  const Tensor all = world_->gather(torch::tensor({count}, torch::kInt64)).cpu();
  for (int64_t rank = 1; rank < world_->size(); ++rank)
    if (const auto other = all[rank].item<int64_t>(), here = all[0].item<int64_t>(); other != here)
      input_error("{} has {} pictures for rank 0 and {} for rank {}; all must see the same files", what, here, other,
                  rank);
}

Snapshots& Together::snapshots(SnapshotFolder* own, const SnapshotOptions& options) {
  if (!world_) return *own;
  snapshots_ = std::make_unique<SharedSnapshots>(*world_, own, options);
  return *snapshots_;
}

void Together::share(Ensemble& ensemble, Division division) const {
  if (!world_) return;
  const bool even = division == Division::kEither && ensemble.size() % world_->size() == 0;
  const bool by_sources = divide_ == Divide::kSources || (divide_ == Divide::kAuto && even && world_->size() > 1);
  ensemble.share(*world_,
                 division == Division::kNone ? Sharing::By::kNothing
                 : by_sources                ? Sharing::By::kSources
                                             : Sharing::By::kRows,
                 !local_batch_norm_);
}

void Together::share(SourceModel& model) const {
  if (world_) model.share({world_.get(), Sharing::By::kRows, 0, !local_batch_norm_});
}

std::string config_text(const OptionTable& table, int64_t& threads, const Together& together) {
  const int64_t own = together.ranks() ? std::exchange(threads, 0) : threads;
  const std::string text = table.to_toml();
  threads = own;
  return text;
}

}  // namespace tributary::cli
