#include "tributary/comm/communicator.h"

#include "tributary/base/error.h"

namespace tributary {

void Communicator::barrier() {
  Tensor nothing = torch::zeros({1}, torch::kFloat32);
  all_reduce(nothing);
}

Tensor flat_view(const Tensor& tensor) {
  return tensor.is_non_overlapping_and_dense() ? tensor.detach().as_strided({tensor.numel()}, {1}) : Tensor();
}

Shard shard_of(int64_t count, int64_t rank, int64_t size) {
  return {count * rank / size, count * (rank + 1) / size};
}

Tensor gather_rows(Communicator& comm, const Tensor& own, int64_t total) {
  const Shard share = shard_of(total, comm);
  TRIBUTARY_CHECK(own.size(0) == share.count(), "{} rows where {} of {} belong to rank {}", own.size(0), share.count(),
                  total, comm.rank());
  if (comm.size() == 1) return own;
  // Every rank brings as many rows as the one with the most.
  const int64_t most = (total + comm.size() - 1) / comm.size();
  Tensor padded = own.contiguous();
  if (share.count() < most) {
    std::vector<int64_t> shape = own.sizes().vec();
    shape[0] = most - share.count();
    padded = at::cat({padded, torch::zeros(shape, own.options())});
  }
  const Tensor all = comm.all_gather(padded);
  if (total == most * comm.size()) return all.flatten(0, 1);
  std::vector<Tensor> parts;
  for (int64_t rank = 0; rank < comm.size(); ++rank)
    parts.push_back(all[rank].narrow(0, 0, shard_of(total, rank, comm.size()).count()));
  return at::cat(parts);
}

}  // namespace tributary
