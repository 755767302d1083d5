#include "tributary/model/noise.h"

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

Tensor Noise::drawn_on_device(int64_t count, double drop) {
  constexpr auto kGolden = static_cast<int64_t>(0x9e3779b97f4a7c15);
  const int64_t draws = (count + 1) / 2;
  const Tensor place = torch::arange(position_ + 1, position_ + draws + 1, key_.options());
  position_ += draws;
  const Tensor bits = mix(mix(place * kGolden + key_) + key_);
  const Tensor halves = at::stack({bits.bitwise_and(kLow), bits.bitwise_right_shift(32).bitwise_and(kLow)}, 1);
  const auto threshold = static_cast<int64_t>(drop * 4294967296.0);
  return (halves >= threshold).view({-1}).narrow(0, 0, count).to(torch::kFloat32).mul_(1 / (1 - drop));
}

Tensor Noise::mask(torch::IntArrayRef shape, double drop) {
  if (key_.defined()) {
    int64_t count = 1;
    for (const int64_t extent : shape) count *= extent;
    drawn_.push_back(drawn_on_device(count, drop).view(shape));
    return drawn_.back();
  }
  Tensor mask = torch::empty(shape, torch::kFloat32);
  float* value = mask.data_ptr<float>();
  const int64_t count = mask.numel();
  const auto threshold = static_cast<uint64_t>(drop * 4294967296.0);
  const auto kept = static_cast<float>(1 / (1 - drop));
  for (int64_t i = 0; i < count; i += 2) {
    const uint64_t bits = stream_.bits();
    value[i] = (bits & 0xffffffff) < threshold ? 0 : kept;
    if (i + 1 < count) value[i + 1] = (bits >> 32) < threshold ? 0 : kept;
  }
  drawn_.push_back(upload(mask, device_));
  return drawn_.back();
}

}  // namespace tributary
