#include "tributary/data/picture_extent.h"

#include <algorithm>
#include <vector>

#include "tributary/data/picture_source.h"

namespace tributary {

PictureExtent typical_extent(const std::string& path, const LoadOptions& options) {
  constexpr int64_t kSamples = 9;
  const PictureSource source = open_pictures(path, options.root, options.threads);
  std::vector<PictureExtent> extents;
  for (int64_t i = 0; i < std::min(kSamples, source.size()); ++i) {
    const int64_t index = i * source.size() / std::min(kSamples, source.size());
    try {
      const std::vector<uint8_t> file = source.read ? source.read(index) : std::vector<uint8_t>();
      const Picture picture = source.decode(index, file, {options.max_pixels}, {});
      extents.push_back({picture.width, picture.height});
    } catch (const PictureError&) {  // loading reports it
    }
  }
  if (extents.empty()) return {};
  const auto middle = extents.begin() + static_cast<std::ptrdiff_t>(extents.size() / 2);
  std::nth_element(extents.begin(), middle, extents.end(),
                   [](const PictureExtent& a, const PictureExtent& b) { return a.longer() < b.longer(); });
  return *middle;
}

}  // namespace tributary
