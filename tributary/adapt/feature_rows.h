// Features of a whole set, a block of rows at a time.
//
// Evaluation stores features [n, d] as float32 on the device if they fit, else as bfloat16 or on the host
// (train/feature_storage.h). All computation on features runs in float32: at once on plain features, else one block of
// rows at a time on the device.
#pragma once

#include <algorithm>

#include "tributary/base/tensor.h"

namespace tributary {

// Whether the features are float32 on `device`, so that no blocks are needed.
inline bool is_plain(const Tensor& features, torch::Device device) {
  return features.scalar_type() != torch::kBFloat16 && features.device() == device;
}

// Rows begin .. end as float32 on the device.
inline Tensor rows_as_float(const Tensor& features, int64_t begin, int64_t end, torch::Device device) {
  return features.slice(0, begin, end).to(device).to(torch::kFloat32);
}

// The rows at `index`, int64 [s] on any device, as float32 on `device`.
inline Tensor chosen_rows_as_float(const Tensor& features, const Tensor& index, torch::Device device) {
  return features.index_select(0, index.to(features.device())).to(device).to(torch::kFloat32);
}

// The rows [n, d], each divided by its length.
inline Tensor unit_length_rows(const Tensor& rows) {
  return rows / rows.norm(2, {1}, true).clamp_min(1e-12);
}

// Calls work(begin, end) for blocks of `rows` rows. A row takes `numbers` values; a block takes at most 2^25 of them.
template <typename Work>
void for_row_blocks(int64_t rows, int64_t numbers, const Work& work) {
  constexpr int64_t kNumbers = 1 << 25;
  const int64_t block = std::max<int64_t>(1, kNumbers / std::max<int64_t>(1, numbers));
  for (int64_t begin = 0; begin < rows; begin += block) work(begin, std::min(begin + block, rows));
}

}  // namespace tributary
