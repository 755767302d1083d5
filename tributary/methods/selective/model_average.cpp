#include "tributary/methods/selective/model_average.h"

#include <algorithm>
#include <cmath>

#include "tributary/base/error.h"

namespace tributary {

ModelAverage::ModelAverage(Ensemble& ensemble) : ensemble_(ensemble), other_(ensemble.state()) {
  for (NamedTensor& tensor : other_) tensor.value = tensor.value.detach().clone();
}

void ModelAverage::update(double decay) {
  TRIBUTARY_CHECK(!holds_average_, "the average is updated from the trained values");
  torch::NoGradGuard no_grad;
  const NamedTensors trained = ensemble_.state();
  std::vector<Tensor> averages, values;
  for (size_t i = 0; i < trained.size(); ++i) {
    if (!trained[i].value.is_floating_point()) {
      other_[i].value.copy_(trained[i].value);
      continue;
    }
    averages.push_back(other_[i].value);
    values.push_back(trained[i].value.detach());
  }
  at::_foreach_mul_(averages, decay);
  at::_foreach_add_(averages, values, 1 - decay);
}

void ModelAverage::hold_average() {
  if (!holds_average_) swap();
}

void ModelAverage::hold_trained() {
  if (holds_average_) swap();
}

void ModelAverage::swap() {
  torch::NoGradGuard no_grad;
  const NamedTensors held = ensemble_.state();
  for (size_t i = 0; i < held.size(); ++i) {
    const Tensor value = held[i].value.detach().clone();
    held[i].value.detach().copy_(other_[i].value);
    other_[i].value.copy_(value);
  }
  holds_average_ = !holds_average_;
}

double decay_per_step(double share, int64_t steps) {
  return std::pow(share, 1 / static_cast<double>(std::max<int64_t>(1, steps)));
}

}  // namespace tributary
