#include "tributary/model/micro_batch.h"

#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/custom_function.h>

#include "tributary/base/error.h"
#include "tributary/device/accelerator.h"

namespace tributary {
namespace {

// One pass and its division into micro-batches, whose sizes differ by at most one row.
struct Pass {
  Tensor x;
  DropoutStream* dropout_stream;
  int64_t micro_batches;
  MicroBatchForward forward;
  size_t drawn_before;  // masks that `dropout_stream` had drawn before this pass
  bool mixed;           // whether mixed precision was active in the forward pass

  int64_t begin(int64_t i) const { return x.size(0) * i / micro_batches; }

  Tensor run(int64_t i, bool recompute) const {
    const int64_t first = begin(i), count = begin(i + 1) - first;
    const Tensor rows = x.narrow(0, first, count);
    if (!dropout_stream) return forward(rows, nullptr, recompute);
    DropoutStream own(*dropout_stream, drawn_before, first, x.size(0));
    return forward(rows, &own, recompute);
  }
};

class MicroBatchFunction : public torch::autograd::Function<MicroBatchFunction> {
 public:
  // `anchor` requires a gradient, so that autograd calls backward() although `x` does not require one.
  static Tensor forward(torch::autograd::AutogradContext* context, const Tensor& /*anchor*/, const Pass* pass) {
    std::vector<Tensor> parts;
    for (int64_t i = 0; i < pass->micro_batches; ++i) parts.push_back(pass->run(i, /*recompute=*/false));
    context->saved_data["pass"] = c10::IValue::make_capsule(c10::make_intrusive<SavedPass>(*pass));
    return at::cat(parts);
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 const torch::autograd::variable_list& gradients) {
    const auto saved = context->saved_data["pass"].toCapsule();
    const Pass& pass = static_cast<const SavedPass&>(*saved).pass;
    const torch::AutoGradMode with_gradients(true);
    for (int64_t i = 0; i < pass.micro_batches; ++i) {
      Tensor part;
      {
        const MixedPrecision precision(pass.mixed, pass.x.device());
        part = pass.run(i, /*recompute=*/true);
      }
      torch::autograd::backward({part}, {gradients[0].narrow(0, pass.begin(i), part.size(0))});
    }
    return {Tensor(), Tensor()};
  }

 private:
  struct SavedPass : torch::CustomClassHolder {
    explicit SavedPass(const Pass& saved) : pass(saved) {}
    Pass pass;
  };
};

}  // namespace

Tensor in_micro_batches(const Tensor& x, DropoutStream* dropout_stream, int64_t micro_batch,
                        const MicroBatchForward& forward) {
  TRIBUTARY_CHECK(!x.requires_grad(), "a pass in micro-batches has no gradient with respect to its input");
  const Pass pass{x,
                  dropout_stream,
                  (x.size(0) + micro_batch - 1) / micro_batch,
                  forward,
                  dropout_stream ? dropout_stream->drawn().size() : 0,
                  MixedPrecision::active(x.device())};
  if (torch::GradMode::is_enabled() && dropout_stream) {
    const Tensor anchor = torch::zeros({}, x.options().dtype(torch::kFloat32)).requires_grad_();
    return MicroBatchFunction::apply(anchor, &pass);
  }
  std::vector<Tensor> parts;
  for (int64_t i = 0; i < pass.micro_batches; ++i) parts.push_back(pass.run(i, /*recompute=*/false));
  return at::cat(parts);
}

}  // namespace tributary
