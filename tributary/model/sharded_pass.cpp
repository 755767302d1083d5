#include "tributary/model/sharded_pass.h"

#include <torch/csrc/autograd/custom_function.h>

#include "tributary/base/error.h"
#include "tributary/device/accelerator.h"

namespace tributary {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// Forward: gathers the rows of all ranks. Backward: every rank has the gradient of all rows and takes its own.
class GatherRows : public torch::autograd::Function<GatherRows> {
 public:
  static Tensor forward(AutogradContext* context, const Tensor& own, Communicator* comm, int64_t total) {
    context->saved_data["begin"] = shard_of(total, *comm).begin;
    context->saved_data["count"] = own.size(0);
    return gather_rows(*comm, own, total);
  }
  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const int64_t begin = context->saved_data["begin"].toInt(), count = context->saved_data["count"].toInt();
    return {gradients[0].narrow(0, begin, count), Tensor(), Tensor()};
  }
};

// For passes that every rank does in full: keeps the gradient on rank 0 only, so that the sum over ranks is right.
class CountOnce : public torch::autograd::Function<CountOnce> {
 public:
  static Tensor forward(AutogradContext* context, const Tensor& x, bool counts) {
    context->saved_data["counts"] = counts;
    return x.clone();
  }
  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const bool counts = context->saved_data["counts"].toBool();
    return {counts ? gradients[0] : torch::zeros_like(gradients[0]), Tensor()};
  }
};

torch::ScalarType transfer_dtype(torch::Device device) {
  return MixedPrecision::active(device) ? torch::kBFloat16 : torch::kFloat32;
}

}  // namespace

Shard own_rows(const Communicator& comm, int64_t rows) {
  return rows < comm.size() ? Shard{0, rows} : shard_of(rows, comm);
}

Tensor sharded_forward(Communicator& comm, const Tensor& x, DropoutStream* dropout_stream, const RowsForward& forward) {
  TRIBUTARY_CHECK(!x.requires_grad(), "a pass by rows has no gradient with respect to its input");
  const int64_t total = x.size(0);
  const bool needs_gradient = dropout_stream && torch::GradMode::is_enabled();
  if (total < comm.size()) {
    const Tensor all = forward(x, dropout_stream, /*whole=*/true);
    return needs_gradient ? CountOnce::apply(all, comm.first()) : all;
  }
  const Shard shard = own_rows(comm, total);
  const Tensor rows = x.narrow(0, shard.begin, shard.count());
  Tensor own;
  if (dropout_stream) {
    DropoutStream of_rows(*dropout_stream, dropout_stream->drawn().size(), shard.begin, total);
    own = forward(rows, &of_rows, /*whole=*/false);
  } else {
    own = forward(rows, nullptr, /*whole=*/false);
  }
  return needs_gradient ? GatherRows::apply(own, &comm, total) : gather_rows(comm, own, total);
}

Tensor send_from_owner(Communicator& comm, const Tensor& own) {
  const Tensor result = own.to(transfer_dtype(own.device()));
  Tensor wire = result.detach().contiguous();
  comm.broadcast(wire, comm.rank());
  return result;
}

Tensor receive_from_owner(Communicator& comm, int64_t owner, const Tensor& x, int64_t width,
                          DropoutStream* dropout_stream, const PassDraws& draws) {
  if (dropout_stream) {
    for (const auto& [shape, drop] : draws) {
      std::vector<int64_t> all = {x.size(0)};
      all.insert(all.end(), shape.begin(), shape.end());
      dropout_stream->mask(all, drop);
    }
  }
  Tensor wire = torch::empty({x.size(0), width}, x.options().dtype(transfer_dtype(x.device())));
  comm.broadcast(wire, owner);
  // The gradient ends here, but the graph must reach this tensor for backward() to be callable.
  return dropout_stream && torch::GradMode::is_enabled() ? wire.requires_grad_() : wire;
}

namespace {

void broadcast(Communicator& comm, const NamedTensor& tensor, int64_t owner) {
  const Tensor value = tensor.value.detach();
  Tensor flat = flat_view(value);
  if (flat.defined()) {
    comm.broadcast(flat, owner);
    return;
  }
  flat = value.contiguous();
  comm.broadcast(flat, owner);
  value.copy_(flat);
}

}  // namespace

void broadcast_state(Communicator& comm, const NamedTensors& tensors) {
  if (comm.size() == 1) return;
  torch::NoGradGuard no_grad;
  for (const NamedTensor& tensor : tensors) broadcast(comm, tensor, std::max<int64_t>(0, tensor.owner));
}

void gather_owned(Communicator& comm, const NamedTensors& tensors) {
  if (comm.size() == 1) return;
  torch::NoGradGuard no_grad;
  for (const NamedTensor& tensor : tensors)
    if (tensor.owner >= 0) broadcast(comm, tensor, tensor.owner);
}

}  // namespace tributary
