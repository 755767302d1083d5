#include "tributary/model/micro_batch.h"

namespace tributary {

Tensor in_micro_batches(const Tensor& x, DropoutStream* dropout_stream, int64_t micro_batch,
                        const PassForward& forward) {
  const int64_t total = x.size(0), count = (total + micro_batch - 1) / micro_batch;
  const size_t drawn_before = dropout_stream ? dropout_stream->drawn().size() : 0;
  std::vector<Tensor> parts;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t first = total * i / count;
    const Tensor rows = x.narrow(0, first, total * (i + 1) / count - first);
    if (!dropout_stream) {
      parts.push_back(forward(rows, nullptr, /*again=*/false));
      continue;
    }
    DropoutStream own(*dropout_stream, drawn_before, first, total);
    parts.push_back(recomputed(rows, own, forward));
  }
  return at::cat(parts);
}

}  // namespace tributary
