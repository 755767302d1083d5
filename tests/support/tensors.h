// Tensor helpers for tests.
#pragma once

#include <gtest/gtest.h>

#include "tributary/base/random.h"
#include "tributary/base/tensor.h"

namespace tributary::test {

// Largest absolute difference.
inline double distance(const Tensor& a, const Tensor& b) {
  if (a.sizes() != b.sizes()) return INFINITY;
  return a.numel() == 0 ? 0 : (a.to(torch::kFloat64) - b.to(torch::kFloat64)).abs().max().item<double>();
}

// Standard normal values that depend only on the seed.
inline Tensor normals(torch::IntArrayRef shape, uint64_t seed) {
  Tensor tensor = torch::empty(shape, torch::kFloat32);
  Random random(seed);
  for (int64_t i = 0; i < tensor.numel(); ++i) tensor.data_ptr<float>()[i] = static_cast<float>(random.normal());
  return tensor;
}

inline Tensor indices(std::vector<int64_t> values) {
  return torch::tensor(values, torch::kInt64);
}

}  // namespace tributary::test

#define EXPECT_TENSOR_NEAR(a, b, tolerance) EXPECT_LE(::tributary::test::distance(a, b), tolerance)
#define EXPECT_TENSOR_EQ(a, b) EXPECT_TRUE(torch::equal(a, b)) << a << "\nversus\n" << b
