#include "tributary/report/thumbnail.h"

#include <algorithm>
#include <cmath>

#include "tributary/base/base64.h"
#include "tributary/data/image/encode_png.h"
#include "tributary/data/image/resize.h"

namespace tributary {

std::string thumbnail(const ImageSet& pictures, int64_t index, int side) {
  Picture picture{pictures.height, pictures.width, std::vector<uint8_t>(static_cast<size_t>(pictures.picture_bytes()))};
  copy_pictures(pictures, std::span(&index, 1), picture.rgb.data());
  const double scale = static_cast<double>(side) / std::max(picture.height, picture.width);
  if (scale < 1)
    picture = resize_bilinear(picture, std::max(1, static_cast<int>(std::lround(picture.height * scale))),
                              std::max(1, static_cast<int>(std::lround(picture.width * scale))));
  return "data:image/png;base64," + base64(encode_png(picture.rgb, picture.height, picture.width));
}

}  // namespace tributary
