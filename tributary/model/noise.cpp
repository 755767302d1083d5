#include "tributary/model/noise.h"

#include "tributary/model/device.h"

namespace tributary {

Tensor Noise::mask(torch::IntArrayRef shape, double drop) {
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
