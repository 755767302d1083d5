#include "tributary/train/gathered_rows.h"

#include <algorithm>

#include "tributary/train/feature_storage.h"

namespace tributary {
namespace {

// Rows of `width` numbers that are sent at once.
int64_t rows_at_once(int64_t width) {
  constexpr int64_t kNumbers = 1 << 22;
  return std::max<int64_t>(1, kNumbers / std::max<int64_t>(1, width));
}

}  // namespace

Tensor rows_on_first(const Tensor& own, const RowBlock& rows) {
  if (!rows.divided()) return own;
  Communicator& comm = *rows.comm();
  const int64_t width = own.size(1), total = rows.total(own.size(0));
  const int64_t at_once = rows_at_once(width);
  Tensor all = comm.first() ? mapped_rows(total, width, folder_for_features()) : Tensor();
  for (int64_t owner = 0; owner < comm.size(); ++owner) {
    const Shard shard = shard_of(total, owner, comm.size());
    for (int64_t begin = shard.begin; begin < shard.end; begin += at_once) {
      const int64_t count = std::min(at_once, shard.end - begin);
      Tensor block = owner == comm.rank() ? own.narrow(0, begin - shard.begin, count).to(torch::kFloat32).contiguous()
                                          : torch::empty({count, width}, own.options().dtype(torch::kFloat32));
      comm.broadcast(block, owner);
      if (comm.first()) all.narrow(0, begin, count).copy_(block);
    }
  }
  return all;
}

Tensor own_rows_from_first(const Tensor& whole, int64_t width, const RowBlock& rows) {
  if (!rows.divided()) return whole;
  const int64_t total = rows.total(0), at_once = rows_at_once(width);
  const Shard shard = rows.shard(total);
  Tensor own = torch::empty({shard.count(), width}, torch::kFloat32);
  for (int64_t begin = 0; begin < total; begin += at_once) {
    const int64_t count = std::min(at_once, total - begin);
    Tensor block = rows.comm()->first() ? whole.narrow(0, begin, count).to(torch::kCPU, torch::kFloat32).contiguous()
                                        : torch::empty({count, width}, torch::kFloat32);
    rows.comm()->broadcast(block, 0);
    const int64_t first = std::max(begin, shard.begin), last = std::min(begin + count, shard.end);
    if (first < last)
      own.narrow(0, first - shard.begin, last - first).copy_(block.narrow(0, first - begin, last - first));
  }
  return own;
}

}  // namespace tributary
