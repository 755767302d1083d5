#include "tributary/model/recomputed_pass.h"

#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/custom_function.h>

#include "tributary/device/accelerator.h"

namespace tributary {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

struct Pass : torch::CustomClassHolder {
  PassForward forward;
  std::vector<Tensor> masks;
  bool mixed = false;  // whether mixed precision was active in the first pass
};

class RecomputedFunction : public torch::autograd::Function<RecomputedFunction> {
 public:
  // `anchor` requires a gradient, so that autograd calls backward() even if `x` does not require one.
  static Tensor forward(AutogradContext* context, const Tensor& /*anchor*/, const Tensor& x,
                        DropoutStream* dropout_stream, const PassForward* forward) {
    auto pass = c10::make_intrusive<Pass>();
    pass->forward = *forward;
    pass->mixed = MixedPrecision::active(x.device());
    Tensor y = (*forward)(x, dropout_stream, /*again=*/false);
    if (pass->mixed) MixedPrecision::forget_weights();  // copies made here have no gradient
    pass->masks = dropout_stream->drawn();
    context->save_for_backward({x});
    context->saved_data["needs_gradient"] = x.requires_grad();
    context->saved_data["pass"] = c10::IValue::make_capsule(std::move(pass));
    return y;
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const auto saved = context->saved_data["pass"].toCapsule();
    const auto& pass = static_cast<const Pass&>(*saved);
    const torch::AutoGradMode with_gradients(true);
    const Tensor x = context->get_saved_variables().front().detach();
    x.set_requires_grad(context->saved_data["needs_gradient"].toBool());
    Tensor y;
    {
      const MixedPrecision precision(pass.mixed, x.device());
      DropoutStream same(pass.masks, x.device());
      y = pass.forward(x, &same, /*again=*/true);
    }
    if (y.requires_grad()) torch::autograd::backward({y}, {gradients.front()});
    return {Tensor(), x.grad(), Tensor(), Tensor()};
  }
};

}  // namespace

Tensor recomputed(const Tensor& x, DropoutStream& dropout_stream, const PassForward& forward) {
  if (!torch::GradMode::is_enabled()) return forward(x, &dropout_stream, /*again=*/false);
  const Tensor anchor = torch::zeros({}, x.options().dtype(torch::kFloat32)).requires_grad_();
  return RecomputedFunction::apply(anchor, x, &dropout_stream, &forward);
}

}  // namespace tributary
