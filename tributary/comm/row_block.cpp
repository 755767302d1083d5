#include "tributary/comm/row_block.h"

#include "tributary/base/error.h"

namespace tributary {

RowBlock::RowBlock(Communicator* comm, int64_t total) {
  if (!comm || comm->size() == 1) return;
  comm_ = comm;
  total_ = total;
  own_ = shard_of(total, *comm);
}

Tensor RowBlock::sum(const Tensor& of_own) const {
  if (!divided()) return of_own;
  Tensor all = of_own.is_floating_point() ? of_own.to(torch::kFloat64) : of_own.to(torch::kInt64);
  // A copy: all_reduce works in place.
  all = all.clone(at::MemoryFormat::Contiguous);
  comm_->all_reduce(all);
  return all.to(of_own.scalar_type());
}

int64_t RowBlock::sum(int64_t of_own) const {
  return divided() ? sum(torch::tensor({of_own}, torch::kInt64)).item<int64_t>() : of_own;
}

Tensor RowBlock::mean(const Tensor& rows) const {
  if (!divided()) return rows.mean(0);
  const Tensor own = rows.dim() == 1 ? rows.sum(0, /*keepdim=*/false, torch::kFloat64) : rows.sum(0);
  return (sum(own.to(torch::kFloat64)) / static_cast<double>(total_)).to(rows.scalar_type());
}

Tensor RowBlock::gather(const Tensor& own, int64_t dim) const {
  if (!divided()) return own;
  if (dim == 0) return gather_rows(*comm_, own, total_);
  return gather_rows(*comm_, own.transpose(0, dim).contiguous(), total_).transpose(0, dim).contiguous();
}

Tensor RowBlock::own(const Tensor& whole, int64_t dim) const {
  if (!divided()) return whole;
  TRIBUTARY_CHECK(whole.size(dim) == total_, "{} rows of {}", whole.size(dim), total_);
  return whole.narrow(dim, own_.begin, own_.count());
}

Tensor RowBlock::select(const Tensor& own, const Tensor& index) const {
  const Tensor here = index.to(own.device());
  if (!divided()) return own.index_select(0, here);
  std::vector<int64_t> shape = own.sizes().vec();
  shape[0] = here.size(0);
  Tensor chosen;
  if (own_.count() == 0) {
    chosen = torch::zeros(shape, own.options());
  } else {
    std::vector<int64_t> column(shape.size(), 1);
    column[0] = here.size(0);
    const Tensor local = here - own_.begin;
    const Tensor kept = (local >= 0).logical_and(local < own_.count()).view(column);
    chosen = own.index_select(0, local.clamp(0, own_.count() - 1)).masked_fill(kept.logical_not(), 0);
  }
  return sum(chosen);
}

}  // namespace tributary
