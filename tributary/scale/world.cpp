#include "tributary/scale/world.h"

#include <c10/core/impl/VirtualGuardImpl.h>
#include <torch/cuda.h>

#include <csignal>
#include <exception>

#include "tributary/base/error.h"
#include "tributary/base/interrupt.h"
#include "tributary/base/message.h"
#include "tributary/scale/group.h"
#include "tributary/scale/launch.h"
#include "tributary/scale/watch.h"

namespace tributary {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kMeeting = std::chrono::minutes(5);  // for all ranks to be started

milliseconds of_seconds(double seconds) {
  return std::chrono::duration_cast<milliseconds>(std::chrono::duration<double>(seconds));
}

}  // namespace

void declare(OptionTable& table, ScaleOptions& options) {
  constexpr double kShortest = 1, kLongest = 366 * 24 * 3600;
  table
      .integer("scale", "processes", &options.processes, 0, 1024,
               "processes to start on this machine for one piece of work; 0 takes this one only")
      .transient();
  table
      .number("scale", "rank_patience", &options.rank_patience, kShortest, 3600,
              "seconds without a sign of life after which a process is lost")
      .transient();
  table
      .number("scale", "rank_timeout", &options.rank_timeout, kShortest, kLongest,
              "seconds that processes wait for one that is alive but does not come")
      .transient();
}

struct World::Links {
  Links(const Place& own, torch::Device where, double seconds)
      : place(own), device(where), patience(seconds), store(open_store(own, kMeeting)) {}

  Place place;
  torch::Device device;
  double patience;
  int exceptions = std::uncaught_exceptions();
  bool failed = false;
  c10::intrusive_ptr<c10d::Store> store;
  std::optional<Watch> watch;  // none where there is nobody to watch
  c10::intrusive_ptr<Group> group;
  std::string failure = "it ended with an error of its own";  // where it does not say more

  // Calls `work`; where it fails, the reason is most often a rank that is lost, which the watch can name.
  template <typename Call>
  void guarded(const Call& work) {
    if (watch) watch->check();
    try {
      work();
    } catch (const InputError&) {
      throw;
    } catch (const std::exception& error) {
      constexpr double kMargin = 3;
      if (watch) watch->check(patience + kMargin);
      failure = fmt::format("no result from the other ranks: {}", first_line(error.what()));
      throw WorkError(failure);
    }
  }

  // What is sent for a tensor: its own memory where that can be, otherwise a copy. Bytes where nothing is computed.
  Tensor outgoing(const Tensor& tensor, bool computed) const {
    Tensor wire = flat_view(tensor);
    TRIBUTARY_CHECK(wire.defined(), "a tensor with gaps among those of several ranks");
    if (!computed || wire.scalar_type() == torch::kBool) wire = wire.view(torch::kUInt8);
    if (wire.scalar_type() == torch::kBFloat16 && !is_nccl(device)) wire = wire.to(torch::kFloat32);
    return wire.device() == device ? wire : wire.to(device);
  }
  // Takes what came back into the tensor, unless it is there already.
  static void take(const Tensor& tensor, const Tensor& wire, bool computed) {
    if (wire.data_ptr() == tensor.data_ptr()) return;
    Tensor own = flat_view(tensor);
    if (!computed || own.scalar_type() == torch::kBool) own = own.view(torch::kUInt8);
    own.copy_(wire);
  }
};

namespace {

class Nothing : public Ranks::Pending {
 public:
  void wait() override {}
};

// A sum under way. It keeps the tensors it works on.
class SumUnderWay : public Ranks::Pending {
 public:
  using Guarded = std::function<void(const std::function<void()>&)>;
  SumUnderWay(c10::intrusive_ptr<c10d::Work> work, Guarded guarded, std::function<void()> take)
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

World::World(const Place& place, torch::Device device, const ScaleOptions& options)
    : links_(new Links(place, device, options.rank_patience)) {
  Links& links = *links_;
  std::signal(SIGPIPE, SIG_IGN);  // Gloo writes to ranks that are gone: an error, but no reason to die without a word
  if (device.is_cuda()) c10::impl::VirtualGuardImpl(device.type()).setDevice(device);
  try {
    if (place.size > 1) links.watch.emplace(place, options.rank_patience, connect_store(place, kMeeting));
    links.guarded([&] { links.group = open_group(links.store, place, device, of_seconds(options.rank_timeout)); });
    meet();
  } catch (const std::exception& error) {
    if (links.watch) links.watch->fail(error.what());
    if (links.group) abandon_group(std::move(links.group));
    throw;
  }
}

World::~World() {
  Links& links = *links_;
  try {
    if (std::uncaught_exceptions() <= links.exceptions && !links.failed) {
      close_group(std::move(links.group));
    } else {
      if (links.watch && interrupt_signal() == 0) links.watch->fail(links.failure);
      abandon_group(std::move(links.group));
    }
    if (links.watch) links.watch->leave();
  } catch (const std::exception&) {  // nobody is left to whom it matters
  }
}

int64_t World::rank() const {
  return links_->place.rank;
}

int64_t World::size() const {
  return links_->place.size;
}

void World::sum(Tensor& tensor) {
  begin_sum(tensor)->wait();
}

std::unique_ptr<Ranks::Pending> World::begin_sum(Tensor tensor) {
  if (tensor.numel() == 0) return std::make_unique<Nothing>();
  Links& links = *links_;
  std::vector<Tensor> wire = {links.outgoing(tensor, /*computed=*/true)};
  c10d::AllreduceOptions options;
  options.reduceOp = tensor.scalar_type() == torch::kBool ? c10d::ReduceOp::MAX : c10d::ReduceOp::SUM;
  c10::intrusive_ptr<c10d::Work> work;
  links.guarded([&] { work = links.group->allreduce(wire, options); });
  return std::make_unique<SumUnderWay>(
      std::move(work), [&links](const std::function<void()>& call) { links.guarded(call); },
      [tensor, wire = wire[0]] { Links::take(tensor, wire, /*computed=*/true); });
}

void World::broadcast(Tensor& tensor, int64_t owner) {
  if (tensor.numel() == 0) return;
  Links& links = *links_;
  std::vector<Tensor> wire = {links.outgoing(tensor, /*computed=*/false)};
  c10d::BroadcastOptions options;
  options.rootRank = static_cast<int>(owner);
  links.guarded([&] { links.group->broadcast(wire, options)->wait(); });
  if (rank() != owner) Links::take(tensor, wire[0], /*computed=*/false);
}

Tensor World::gather(const Tensor& own) {
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
      links.group->_allgather_base(output, input)->wait();
    } else {
      std::vector<std::vector<Tensor>> parts = {output.chunk(size())};
      std::vector<Tensor> inputs = {input};
      links.group->allgather(parts, inputs)->wait();
    }
  });
  Links::take(all, output, /*computed=*/false);
  return all;
}

void World::advise(std::string advice) {
  if (links_->watch) links_->watch->advise(std::move(advice));
}

void World::fail(const std::string& message) {
  links_->failed = true;
  if (links_->watch) links_->watch->fail(message);
}

torch::Device device_of(const Place& place, torch::Device device) {
  if (!device.is_cuda()) return device;
  const auto count = static_cast<int64_t>(torch::cuda::device_count());
  if (count == 1 && !launched()) return {torch::kCUDA, 0};  // whoever started us showed each rank its own
  if (place.local_rank >= count)
    input_error("rank {} is process {} of this machine, which has {} GPUs; start one process for each GPU", place.rank,
                place.local_rank, count);
  return {torch::kCUDA, static_cast<c10::DeviceIndex>(place.local_rank)};
}

bool can_join(torch::Device device) {
  return has_group(device);
}

std::unique_ptr<World> join(const Place& place, torch::Device device, const ScaleOptions& options) {
  return std::make_unique<World>(place, device_of(place, device), options);
}

}  // namespace tributary
