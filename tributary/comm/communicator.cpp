#include "tributary/comm/communicator.h"

#include "tributary/base/error.h"

namespace tributary {

void Communicator::barrier() {
  Tensor token = torch::zeros({1}, torch::kFloat32);
  all_reduce(token);
}

Tensor flat_view(const Tensor& tensor) {
  return tensor.is_non_overlapping_and_dense() ? tensor.detach().as_strided({tensor.numel()}, {1}) : Tensor();
}

Shard shard_of(int64_t count, int64_t rank, int64_t size) {
  return {count * rank / size, count * (rank + 1) / size};
}

Tensor gather_rows(Communicator& comm, const Tensor& own, int64_t total) {
  const Shard shard = shard_of(total, comm);
  TRIBUTARY_CHECK(own.size(0) == shard.count(), "rank {} holds {} rows, but its shard of {} rows has {}", comm.rank(),
                  own.size(0), total, shard.count());
  if (comm.size() == 1) return own;
  // Pad every shard to the size of the largest, because all_gather needs equal shapes.
  const int64_t most = (total + comm.size() - 1) / comm.size();
  Tensor padded = own.contiguous();
  if (shard.count() < most) {
    std::vector<int64_t> shape = own.sizes().vec();
    shape[0] = most - shard.count();
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
