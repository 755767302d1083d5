#include "tributary/api/pictures.h"

#include <fmt/ranges.h>

#include <limits>
#include <utility>

#include "tributary/base/error.h"

namespace tributary {

Pictures::Pictures(const Tensor& pixels) {
  const auto shape = pixels.sizes();
  if (pixels.scalar_type() != torch::kUInt8 || pixels.dim() != 4 || shape[3] != 3)
    input_error("pictures in memory must be uint8 [n, height, width, 3]; these are {} [{}]",
                c10::toString(pixels.scalar_type()), fmt::join(shape, ", "));
  const auto own = std::make_shared<const Tensor>(pixels.to(torch::kCPU).contiguous());
  *this = Pictures(std::shared_ptr<const uint8_t>(own, own->data_ptr<uint8_t>()), shape[0], static_cast<int>(shape[1]),
                   static_cast<int>(shape[2]));
}

Pictures::Pictures(std::shared_ptr<const uint8_t> pixels, int64_t count, int height, int width)
    : array_{std::move(pixels), count, height, width} {
  if (count < 1 || height < 1 || width < 1)
    input_error("pictures in memory must be uint8 [n, height, width, 3], none of them 0; these are [{}, {}, {}, 3]",
                count, height, width);
  constexpr int kMostPixels = std::numeric_limits<uint16_t>::max();
  if (height > kMostPixels || width > kMostPixels)
    input_error("pictures of {} x {} are too large; resize them to at most {} pixels per side", width, height,
                kMostPixels);
}

Pictures Pictures::with_labels(std::vector<int64_t> labels) const {
  if (!in_memory()) input_error("{} has labels of its own; only pictures in memory are given them", path_);
  if (static_cast<int64_t>(labels.size()) != array_.count)
    input_error("there are {} labels for {} pictures; give one per picture", labels.size(), array_.count);
  Pictures labelled = *this;
  labelled.labels_ = std::move(labels);
  return labelled;
}

}  // namespace tributary
