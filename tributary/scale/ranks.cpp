#include "tributary/scale/ranks.h"

#include "tributary/base/error.h"

namespace tributary {

void Ranks::meet() {
  Tensor nothing = torch::zeros({1}, torch::kFloat32);
  sum(nothing);
}

Tensor flat_view(const Tensor& tensor) {
  return tensor.is_non_overlapping_and_dense() ? tensor.detach().as_strided({tensor.numel()}, {1}) : Tensor();
}

Share share_of(int64_t count, int64_t rank, int64_t size) {
  return {count * rank / size, count * (rank + 1) / size};
}

Tensor gather_rows(Ranks& ranks, const Tensor& own, int64_t total) {
  const Share share = share_of(total, ranks);
  TRIBUTARY_CHECK(own.size(0) == share.count(), "{} rows where {} of {} belong to rank {}", own.size(0), share.count(),
                  total, ranks.rank());
  if (ranks.size() == 1) return own;
  // Every rank brings as many rows as the one with the most.
  const int64_t most = (total + ranks.size() - 1) / ranks.size();
  Tensor padded = own.contiguous();
  if (share.count() < most) {
    std::vector<int64_t> shape = own.sizes().vec();
    shape[0] = most - share.count();
    padded = at::cat({padded, torch::zeros(shape, own.options())});
  }
  const Tensor all = ranks.gather(padded);
  if (total == most * ranks.size()) return all.flatten(0, 1);
  std::vector<Tensor> parts;
  for (int64_t rank = 0; rank < ranks.size(); ++rank)
    parts.push_back(all[rank].narrow(0, 0, share_of(total, rank, ranks.size()).count()));
  return at::cat(parts);
}

}  // namespace tributary
