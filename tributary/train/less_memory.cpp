#include "tributary/train/less_memory.h"

#include <algorithm>

#include "tributary/model/device.h"
#include "tributary/model/layered_source.h"

namespace tributary {

int64_t until_it_fits(int64_t batch, torch::Device device, const std::function<void(int64_t)>& attempt,
                      const std::function<void(int64_t)>& tell) {
  constexpr int64_t kLeast = 2;
  for (int64_t piece = 0;;) {
    try {
      attempt(piece);
      return piece;
    } catch (const std::exception& error) {
      if (!is_out_of_gpu_memory(error) || piece == kLeast) throw;
      piece = std::max(kLeast, (piece == 0 ? batch : piece) / 2);
    }
    // Out here nothing of the attempt is left but what is cached of its memory.
    release_cached_memory(device);
    tell(piece);
  }
}

void set_piece(SourceModel& source, int64_t piece) {
  if (LayeredSource* layers = source.layered()) layers->set_piece(piece);
}

}  // namespace tributary
