#include "tributary/model/pieces.h"

#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/custom_function.h>

#include "tributary/base/error.h"
#include "tributary/model/accelerator.h"

namespace tributary {
namespace {

// One pass and how it is cut: the pieces differ by one row at most.
struct Pass {
  Tensor x;
  Noise* noise;
  int64_t pieces;
  PieceForward forward;
  size_t drawn_before;  // masks of `noise` that are not of this pass
  bool mixed;           // precision

  int64_t begin(int64_t i) const { return x.size(0) * i / pieces; }

  Tensor run(int64_t i, bool again) const {
    const int64_t first = begin(i), count = begin(i + 1) - first;
    const Tensor rows = x.narrow(0, first, count);
    if (!noise) return forward(rows, nullptr, again);
    Noise own(*noise, drawn_before, first, x.size(0));
    return forward(rows, &own, again);
  }
};

class InPieces : public torch::autograd::Function<InPieces> {
 public:
  // `anchor` needs a gradient, so that the way back comes by here.
  static Tensor forward(torch::autograd::AutogradContext* context, const Tensor& /*anchor*/, const Pass* pass) {
    std::vector<Tensor> parts;
    for (int64_t i = 0; i < pass->pieces; ++i) parts.push_back(pass->run(i, /*again=*/false));
    context->saved_data["pass"] = c10::IValue::make_capsule(c10::make_intrusive<Kept>(*pass));
    return at::cat(parts);
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 const torch::autograd::variable_list& gradients) {
    const auto kept = context->saved_data["pass"].toCapsule();
    const Pass& pass = static_cast<const Kept&>(*kept).pass;
    const torch::AutoGradMode with_gradients(true);
    for (int64_t i = 0; i < pass.pieces; ++i) {
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

Tensor in_pieces(const Tensor& x, Noise* noise, int64_t piece, const PieceForward& forward) {
  TRIBUTARY_CHECK(!x.requires_grad(), "a pass in pieces has no gradient in its input");
  const Pass pass{x,
                  noise,
                  (x.size(0) + piece - 1) / piece,
                  forward,
                  noise ? noise->drawn().size() : 0,
                  MixedPrecision::active(x.device())};
  if (torch::GradMode::is_enabled() && noise) {
    const Tensor anchor = torch::zeros({}, x.options().dtype(torch::kFloat32)).requires_grad_();
    return InPieces::apply(anchor, &pass);
  }
  std::vector<Tensor> parts;
  for (int64_t i = 0; i < pass.pieces; ++i) parts.push_back(pass.run(i, /*again=*/false));
  return at::cat(parts);
}

}  // namespace tributary
