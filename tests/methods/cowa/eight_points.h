// Eight points in the plane and predictions of two classes, whose mixture is known.
#pragma once

#include "tributary/base/tensor.h"

namespace tributary::test {

inline Tensor eight_points() {
  return torch::tensor({{0., 0.}, {1., 0.}, {0., 1.}, {4., 3.}, {3., 4.}, {5., 5.}, {2., 1.5}, {1., 1.5}},
                       torch::kFloat64);
}

inline Tensor eight_predictions() {
  const Tensor first = torch::tensor({.9, .8, .7, .2, .1, .05, .4, .6}, torch::kFloat64);
  return at::stack({first, 1 - first}, 1);
}

}  // namespace tributary::test
