#include "tributary/model/noise.h"

#include <c10/util/accumulate.h>

#include "tributary/base/error.h"
#include "tributary/model/device.h"

namespace tributary {

namespace {

constexpr int64_t kLow = 0xffffffff;

// base/random.cpp's bijection on int64 tensors, which wrap around as uint64 does.
Tensor mix(Tensor x) {
  constexpr auto kFactor = static_cast<int64_t>(0xd6e8feb86659fd93);
  const auto fold = [](const Tensor& y) { return y.bitwise_xor(y.bitwise_right_shift(32).bitwise_and(kLow)); };
  x = fold(x) * kFactor;
  x = fold(x) * kFactor;
  return fold(x);
}

}  // namespace

Tensor keyed_draws(const Tensor& position, const Tensor& key) {
  constexpr auto kGolden = static_cast<int64_t>(0x9e3779b97f4a7c15);
  const Tensor bits = mix(mix(position * kGolden + key) + key);
  return at::stack({bits.bitwise_and(kLow), bits.bitwise_right_shift(32).bitwise_and(kLow)}, 1).view({-1});
}

int64_t drop_threshold(double drop) {
  return static_cast<int64_t>(drop * 4294967296.0);
}

Tensor Noise::drawn_on_device(int64_t count, double drop) {
  const int64_t draws = (count + 1) / 2;
  const Tensor position = torch::arange(position_ + 1, position_ + draws + 1, key_.options());
  position_ += draws;
  const Tensor kept = keyed_draws(position, key_).narrow(0, 0, count) >= drop_threshold(drop);
  return kept.to(torch::kFloat32).mul_(1 / (1 - drop));
}

Tensor Noise::drawn_on_host(torch::IntArrayRef shape, double drop) {
  Tensor mask = torch::empty(shape, torch::kFloat32);
  float* value = mask.data_ptr<float>();
  const int64_t count = mask.numel();
  const auto threshold = static_cast<uint64_t>(drop_threshold(drop));
  const auto kept = static_cast<float>(1 / (1 - drop));
  for (int64_t i = 0; i < count; i += 2) {
    const uint64_t bits = stream_.bits();
    value[i] = (bits & 0xffffffff) < threshold ? 0 : kept;
    if (i + 1 < count) value[i + 1] = (bits >> 32) < threshold ? 0 : kept;
  }
  return upload(mask, device_);
}

Tensor Noise::mask(torch::IntArrayRef shape, double drop) {
  Tensor mask;
  if (prepared_) {
    TRIBUTARY_CHECK(drawn_.size() < prepared_->size(), "mask {} of {}", drawn_.size(), prepared_->size());
    mask = (*prepared_)[drawn_.size()];
    TRIBUTARY_CHECK(mask.sizes() == shape, "a mask was prepared for another layer");
  } else if (key_.defined()) {
    mask = drawn_on_device(c10::multiply_integers(shape), drop).view(shape);
  } else {
    mask = drawn_on_host(shape, drop);
  }
  drawn_.push_back(mask);
  drops_.push_back(drop);
  return mask;
}

}  // namespace tributary
