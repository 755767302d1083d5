#include "tributary/embedding/nearest_neighbours.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <tuple>

#include "tributary/base/error.h"
#include "tributary/base/threads.h"

namespace tributary {
namespace {

constexpr int64_t kExtraCandidates = 16;
constexpr int64_t kBlock = int64_t{1} << 24;  // distances per block: 64 MiB

// Squared distance between two rows. Sixteen partial sums let the compiler vectorise the loop.
float squared_distance(const float* a, const float* b, int64_t width) {
  constexpr int64_t kLanes = 16;
  std::array<float, kLanes> sums{};
  int64_t c = 0;
  for (; c + kLanes <= width; c += kLanes)
    for (int64_t l = 0; l < kLanes; ++l) sums[l] += (a[c + l] - b[c + l]) * (a[c + l] - b[c + l]);
  for (; c < width; ++c) sums[0] += (a[c] - b[c]) * (a[c] - b[c]);
  float sum = 0;
  for (const float part : sums) sum += part;
  return sum;
}

// Approximate nearest neighbours of the rows `first` to `first` + `rows` - 1, int64 [rows, candidates] on the host.
Tensor candidates_of(const Tensor& features, const Tensor& lengths2, int64_t first, int64_t rows, int64_t candidates) {
  // Omit |a|^2, which is the same for all neighbours of a row.
  Tensor nearness = at::addmm(-lengths2, features.narrow(0, first, rows), features.t(), /*beta=*/1, /*alpha=*/2);
  const Tensor own = torch::arange(first, first + rows, features.options().dtype(torch::kInt64));
  nearness.scatter_(1, own.unsqueeze(1), -INFINITY);
  return std::get<1>(nearness.topk(candidates, /*dim=*/1, /*largest=*/true, /*sorted=*/false)).to(torch::kCPU);
}

}  // namespace

NearRows nearest_rows_of(const Tensor& features, int64_t count, int threads) {
  const int64_t points = features.size(0), width = features.size(1);
  TRIBUTARY_CHECK(count < points, "{} neighbours requested among {} points", count, points);
  torch::NoGradGuard no_grad;
  const int64_t candidates = std::min(count + kExtraCandidates, points - 1);
  const Tensor host = features.to(torch::kCPU).contiguous(), lengths2 = features.square().sum(1);
  const float* values = host.data_ptr<float>();
  NearRows near{points, count, std::vector<int32_t>(static_cast<size_t>(points * count)),
                std::vector<float>(static_cast<size_t>(points * count))};
  const int64_t block = std::max<int64_t>(1, kBlock / points);
  for (int64_t first = 0; first < points; first += block) {
    const int64_t rows = std::min(block, points - first);
    const Tensor found = candidates_of(features, lengths2, first, rows, candidates).contiguous();
    parallel_for(rows, threads, [&](int64_t r) {
      std::vector<std::pair<float, int64_t>> measured(static_cast<size_t>(candidates));
      for (int64_t c = 0; c < candidates; ++c) {
        const int64_t other = found.data_ptr<int64_t>()[r * candidates + c];
        measured[c] = {squared_distance(values + (first + r) * width, values + other * width, width), other};
      }
      std::sort(measured.begin(), measured.end());
      for (int64_t c = 0; c < count; ++c) {
        near.squared[(first + r) * count + c] = measured[c].first;
        near.index[(first + r) * count + c] = static_cast<int32_t>(measured[c].second);
      }
    });
  }
  return near;
}

}  // namespace tributary
