#include "tributary/model/micro_batch.h"

#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/custom_function.h>

#include "tributary/base/error.h"
#include "tributary/device/accelerator.h"

namespace tributary {
namespace {

// One pass and how it is cut: the pieces differ by one row at most.
struct Pass {
  Tensor x;
  DropoutStream* dropout_stream;
  int64_t micro_batches;
  MicroBatchForward forward;
  size_t drawn_before;  // masks of `dropout_stream` that are not of this pass
  bool mixed;           // precision

  int64_t begin(int64_t i) const { return x.size(0) * i / micro_batches; }

  Tensor run(int64_t i, bool again) const {
    const int64_t first = begin(i), count = begin(i + 1) - first;
    const Tensor rows = x.narrow(0, first, count);
    if (!dropout_stream) return forward(rows, nullptr, again);
    DropoutStream own(*dropout_stream, drawn_before, first, x.size(0));
    return forward(rows, &own, again);
  }
};

class InPieces : public torch::autograd::Function<InPieces> {
 public:
  // `anchor` needs a gradient, so that the way back comes by here.
  static Tensor forward(torch::autograd::AutogradContext* context, const Tensor& /*anchor*/, const Pass* pass) {
    std::vector<Tensor> parts;
    for (int64_t i = 0; i < pass->micro_batches; ++i) parts.push_back(pass->run(i, /*again=*/false));
    context->saved_data["pass"] = c10::IValue::make_capsule(c10::make_intrusive<Kept>(*pass));
    return at::cat(parts);
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 const torch::autograd::variable_list& gradients) {
    const auto kept = context->saved_data["pass"].toCapsule();
    const Pass& pass = static_cast<const Kept&>(*kept).pass;
    const torch::AutoGradMode with_gradients(true);
    for (int64_t i = 0; i < pass.micro_batches; ++i) {
      Tensor part;
      {
        const MixedPrecision precision(pass.mixed, pass.x.device());
        part = pass.run(i, /*again=*/true);
      }
      torch::autograd::backward({part}, {gradients[0].narrow(0, pass.begin(i), part.size(0))});
    }
    return {Tensor(), Tensor()};
  }

 private:
  struct Kept : torch::CustomClassHolder {
    explicit Kept(const Pass& kept) : pass(kept) {}
    Pass pass;
  };
};

}  // namespace

Tensor in_micro_batches(const Tensor& x, DropoutStream* dropout_stream, int64_t micro_batch,
                        const MicroBatchForward& forward) {
  TRIBUTARY_CHECK(!x.requires_grad(), "a pass in pieces has no gradient in its input");
  const Pass pass{x,
                  dropout_stream,
                  (x.size(0) + micro_batch - 1) / micro_batch,
                  forward,
                  dropout_stream ? dropout_stream->drawn().size() : 0,
                  MixedPrecision::active(x.device())};
  if (torch::GradMode::is_enabled() && dropout_stream) {
    const Tensor anchor = torch::zeros({}, x.options().dtype(torch::kFloat32)).requires_grad_();
    return InPieces::apply(anchor, &pass);
  }
  std::vector<Tensor> parts;
  for (int64_t i = 0; i < pass.micro_batches; ++i) parts.push_back(pass.run(i, /*again=*/false));
  return at::cat(parts);
}

}  // namespace tributary
