#include "tributary/model/shared_pass.h"

#include <torch/csrc/autograd/custom_function.h>

#include "tributary/base/error.h"
#include "tributary/model/accelerator.h"

namespace tributary {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// Forwards the rows of all; backwards every rank has the gradient of all rows, and takes its own.
class GatherRows : public torch::autograd::Function<GatherRows> {
 public:
  static Tensor forward(AutogradContext* context, const Tensor& own, Ranks* ranks, int64_t total) {
    context->saved_data["begin"] = share_of(total, *ranks).begin;
    context->saved_data["count"] = own.size(0);
    return gather_rows(*ranks, own, total);
  }
  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const int64_t begin = context->saved_data["begin"].toInt(), count = context->saved_data["count"].toInt();
    return {gradients[0].narrow(0, begin, count), Tensor(), Tensor()};
  }
};

// Of work that every rank does, only the first one's gradients count, so that their sum is right.
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

torch::ScalarType type_on_the_wire(torch::Device device) {
  return MixedPrecision::active(device) ? torch::kBFloat16 : torch::kFloat32;
}

}  // namespace

Share own_rows(const Ranks& ranks, int64_t rows) {
  return rows < ranks.size() ? Share{0, rows} : share_of(rows, ranks);
}

Tensor across_ranks(Ranks& ranks, const Tensor& x, Noise* noise, const RowsForward& forward) {
  TRIBUTARY_CHECK(!x.requires_grad(), "a pass by rows has no gradient in its input");
  const int64_t total = x.size(0);
  const bool learns = noise && torch::GradMode::is_enabled();
  if (total < ranks.size()) {
    const Tensor all = forward(x, noise, /*whole=*/true);
    return learns ? CountOnce::apply(all, ranks.first()) : all;
  }
  const Share share = own_rows(ranks, total);
  const Tensor rows = x.narrow(0, share.begin, share.count());
  Tensor own;
  if (noise) {
    Noise of_rows(*noise, noise->drawn().size(), share.begin, total);
    own = forward(rows, &of_rows, /*whole=*/false);
  } else {
    own = forward(rows, nullptr, /*whole=*/false);
  }
  return learns ? GatherRows::apply(own, &ranks, total) : gather_rows(ranks, own, total);
}

Tensor send_from_owner(Ranks& ranks, const Tensor& own) {
  const Tensor result = own.to(type_on_the_wire(own.device()));
  Tensor wire = result.detach().contiguous();
  ranks.broadcast(wire, ranks.rank());
  return result;
}

Tensor receive_from_owner(Ranks& ranks, int64_t owner, const Tensor& x, int64_t width, Noise* noise,
                          const PassDraws& draws) {
  if (noise) {
    for (const auto& [shape, drop] : draws) {
      std::vector<int64_t> all = {x.size(0)};
      all.insert(all.end(), shape.begin(), shape.end());
      noise->mask(all, drop);
    }
  }
  Tensor wire = torch::empty({x.size(0), width}, x.options().dtype(type_on_the_wire(x.device())));
  ranks.broadcast(wire, owner);
  // A gradient ends here; whoever asks for one finds a way to take.
  return noise && torch::GradMode::is_enabled() ? wire.requires_grad_() : wire;
}

namespace {

void broadcast(Ranks& ranks, const NamedTensor& tensor, int64_t owner) {
  const Tensor value = tensor.value.detach();
  Tensor flat = flat_view(value);
  if (flat.defined()) {
    ranks.broadcast(flat, owner);
    return;
  }
  flat = value.contiguous();
  ranks.broadcast(flat, owner);
  value.copy_(flat);
}

}  // namespace

void agree(Ranks& ranks, const NamedTensors& tensors) {
  if (ranks.size() == 1) return;
  torch::NoGradGuard no_grad;
  for (const NamedTensor& tensor : tensors) broadcast(ranks, tensor, std::max<int64_t>(0, tensor.owner));
}

void collect_owned(Ranks& ranks, const NamedTensors& tensors) {
  if (ranks.size() == 1) return;
  torch::NoGradGuard no_grad;
  for (const NamedTensor& tensor : tensors)
    if (tensor.owner >= 0) broadcast(ranks, tensor, tensor.owner);
}

}  // namespace tributary
