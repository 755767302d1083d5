#include "tributary/distributed/process_group.h"

#include <c10/core/impl/VirtualGuardImpl.h>
#include <torch/cuda.h>

#include <csignal>
#include <exception>

#include "tributary/base/error.h"
#include "tributary/base/interrupt.h"
#include "tributary/base/message.h"
#include "tributary/distributed/backend.h"
#include "tributary/distributed/heartbeat.h"
#include "tributary/launch/launcher.h"

namespace tributary {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kRendezvousTimeout = std::chrono::minutes(5);

milliseconds to_milliseconds(double seconds) {
  return std::chrono::duration_cast<milliseconds>(std::chrono::duration<double>(seconds));
}

}  // namespace

void declare(OptionTable& table, DistributedOptions& options) {
  constexpr double kShortest = 1, kLongest = 366 * 24 * 3600;
  table
      .integer("scale", "processes", &options.processes, 0, 1024,
               "processes to start on this machine; 0 or 1 runs in this process")
      .transient();
  table
      .number("scale", "heartbeat_timeout", &options.heartbeat_timeout, kShortest, 3600,
              "seconds without a heartbeat after which a process counts as lost")
      .alias("rank_patience")
      .metavar("SECONDS")
      .transient();
  table
      .number("scale", "rank_timeout", &options.rank_timeout, kShortest, kLongest,
              "seconds to wait at a collective for a process that is alive")
      .metavar("SECONDS")
      .transient();
}

struct ProcessGroup::Links {
  Links(const RankInfo& own, torch::Device where, double seconds)
      : rank_info(own), device(where), patience(seconds), store(open_store(own, kRendezvousTimeout)) {}

  RankInfo rank_info;
  torch::Device device;
  double patience;
  int exceptions = std::uncaught_exceptions();
  bool failed = false;
  c10::intrusive_ptr<c10d::Store> store;
  std::optional<Heartbeat> heartbeat;  // none with a single rank
  c10::intrusive_ptr<Backend> backend;
  std::string failure = "unknown error";  // announced by the destructor after an exception

  // Calls `work`. If it fails, the cause is most often a lost rank, so wait for the heartbeat to name it.
  template <typename Call>
  void guarded(const Call& work) {
    if (heartbeat) heartbeat->check();
    try {
      work();
    } catch (const InputError&) {
      throw;
    } catch (const std::exception& error) {
      constexpr double kMargin = 3;
      if (heartbeat) heartbeat->check(patience + kMargin);
      failure = fmt::format("a collective operation failed: {}", first_line(error.what()));
      throw WorkError(failure);
    }
  }

  // The buffer to send for a tensor: its own memory if possible, otherwise a copy. Viewed as bytes unless `computed`.
  Tensor outgoing(const Tensor& tensor, bool computed) const {
    Tensor wire = flat_view(tensor);
    TRIBUTARY_CHECK(wire.defined(), "collectives need dense tensors");
    if (!computed || wire.scalar_type() == torch::kBool) wire = wire.view(torch::kUInt8);
    if (wire.scalar_type() == torch::kBFloat16 && !is_nccl(device)) wire = wire.to(torch::kFloat32);
    return wire.device() == device ? wire : wire.to(device);
  }
  // Copies a received buffer into the tensor, unless they share memory.
  static void take(const Tensor& tensor, const Tensor& wire, bool computed) {
    if (wire.data_ptr() == tensor.data_ptr()) return;
    Tensor own = flat_view(tensor);
    if (!computed || own.scalar_type() == torch::kBool) own = own.view(torch::kUInt8);
    own.copy_(wire);
  }
};

namespace {

class Completed : public Communicator::Pending {
 public:
  void wait() override {}
};

// A running all_reduce; keeps its tensors alive.
class PendingSum : public Communicator::Pending {
 public:
  using Guarded = std::function<void(const std::function<void()>&)>;
  PendingSum(c10::intrusive_ptr<c10d::Work> work, Guarded guarded, std::function<void()> take)
      : work_(std::move(work)), guarded_(std::move(guarded)), take_(std::move(take)) {}
  void wait() override {
    if (!work_) return;
    const auto work = std::move(work_);
    guarded_([&] { work->wait(); });
    take_();
  }

 private:
  c10::intrusive_ptr<c10d::Work> work_;
  Guarded guarded_;
  std::function<void()> take_;
};

}  // namespace

ProcessGroup::ProcessGroup(const RankInfo& rank_info, torch::Device device, const DistributedOptions& options)
    : links_(new Links(rank_info, device, options.heartbeat_timeout)) {
  Links& links = *links_;
  std::signal(SIGPIPE, SIG_IGN);  // Gloo may write to a lost rank; that must be an error, not a silent exit
  if (device.is_cuda()) c10::impl::VirtualGuardImpl(device.type()).setDevice(device);
  try {
    if (rank_info.size > 1)
      links.heartbeat.emplace(rank_info, options.heartbeat_timeout, connect_store(rank_info, kRendezvousTimeout));
    links.guarded(
        [&] { links.backend = open_backend(links.store, rank_info, device, to_milliseconds(options.rank_timeout)); });
    barrier();
  } catch (const std::exception& error) {
    if (links.heartbeat) links.heartbeat->fail(error.what());
    if (links.backend) abandon_backend(std::move(links.backend));
    throw;
  }
}

ProcessGroup::~ProcessGroup() {
  Links& links = *links_;
  try {
    if (std::uncaught_exceptions() <= links.exceptions && !links.failed) {
      close_backend(std::move(links.backend));
    } else {
      if (links.heartbeat && interrupt_signal() == 0) links.heartbeat->fail(links.failure);
      abandon_backend(std::move(links.backend));
    }
    if (links.heartbeat) links.heartbeat->leave();
  } catch (const std::exception&) {  // no peer is left to notify
  }
}

int64_t ProcessGroup::rank() const {
  return links_->rank_info.rank;
}

int64_t ProcessGroup::size() const {
  return links_->rank_info.size;
}

void ProcessGroup::all_reduce(Tensor& tensor) {
  all_reduce_async(tensor)->wait();
}

std::unique_ptr<Communicator::Pending> ProcessGroup::all_reduce_async(Tensor tensor) {
  if (tensor.numel() == 0) return std::make_unique<Completed>();
  Links& links = *links_;
  std::vector<Tensor> wire = {links.outgoing(tensor, /*computed=*/true)};
  c10d::AllreduceOptions options;
  options.reduceOp = tensor.scalar_type() == torch::kBool ? c10d::ReduceOp::MAX : c10d::ReduceOp::SUM;
  c10::intrusive_ptr<c10d::Work> work;
  links.guarded([&] { work = links.backend->allreduce(wire, options); });
  return std::make_unique<PendingSum>(
      std::move(work), [&links](const std::function<void()>& call) { links.guarded(call); },
      [tensor, wire = wire[0]] { Links::take(tensor, wire, /*computed=*/true); });
}

void ProcessGroup::broadcast(Tensor& tensor, int64_t owner) {
  if (tensor.numel() == 0) return;
  Links& links = *links_;
  std::vector<Tensor> wire = {links.outgoing(tensor, /*computed=*/false)};
  c10d::BroadcastOptions options;
  options.rootRank = static_cast<int>(owner);
  links.guarded([&] { links.backend->broadcast(wire, options)->wait(); });
  if (rank() != owner) Links::take(tensor, wire[0], /*computed=*/false);
}

Tensor ProcessGroup::all_gather(const Tensor& own) {
  Links& links = *links_;
  std::vector<int64_t> shape = own.sizes().vec();
  shape.insert(shape.begin(), size());
  Tensor all = torch::empty(shape, own.options().requires_grad(false));
  if (own.numel() == 0) return all;
  Tensor input = links.outgoing(own.contiguous(), /*computed=*/false);
  Tensor output = own.device() == links.device ? flat_view(all).view(torch::kUInt8)
                                               : torch::empty({size() * input.numel()}, input.options());
  links.guarded([&] {
    if (is_nccl(links.device)) {
      links.backend->_allgather_base(output, input)->wait();
    } else {
      std::vector<std::vector<Tensor>> parts = {output.chunk(size())};
      std::vector<Tensor> inputs = {input};
      links.backend->allgather(parts, inputs)->wait();
    }
  });
  Links::take(all, output, /*computed=*/false);
  return all;
}

void ProcessGroup::advise(std::string advice) {
  if (links_->heartbeat) links_->heartbeat->advise(std::move(advice));
}

void ProcessGroup::fail(const std::string& message) {
  links_->failed = true;
  if (links_->heartbeat) links_->heartbeat->fail(message);
}

torch::Device device_of(const RankInfo& rank_info, torch::Device device) {
  if (!device.is_cuda()) return device;
  const auto count = static_cast<int64_t>(torch::cuda::device_count());
  if (count == 1 && !launched()) return {torch::kCUDA, 0};  // the launcher made one GPU visible to each rank
  if (rank_info.local_rank >= count)
    input_error("rank {} has local rank {}, but this machine has {} GPUs; start one process per GPU", rank_info.rank,
                rank_info.local_rank, count);
  return {torch::kCUDA, static_cast<c10::DeviceIndex>(rank_info.local_rank)};
}

bool can_join(torch::Device device) {
  return has_backend(device);
}

std::unique_ptr<ProcessGroup> join(const RankInfo& rank_info, torch::Device device, const DistributedOptions& options) {
  return std::make_unique<ProcessGroup>(rank_info, device_of(rank_info, device), options);
}

}  // namespace tributary
