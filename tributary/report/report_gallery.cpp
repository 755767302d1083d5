// "gallery" of the report: thumbnails of the most and least confident and the changed pictures.
#include <algorithm>
#include <cmath>

#include "tributary/base/base64.h"
#include "tributary/data/image/encode_png.h"
#include "tributary/data/image/resize.h"
#include "tributary/report/report_data.h"

namespace tributary {
namespace {

constexpr int kThumb = 96;  // longer side in pixels

std::string thumb_of(const ImageSet& pictures, int64_t index) {
  Picture picture{pictures.height, pictures.width, std::vector<uint8_t>(static_cast<size_t>(pictures.picture_bytes()))};
  copy_pictures(pictures, std::span(&index, 1), picture.rgb.data());
  const double scale = static_cast<double>(kThumb) / std::max(picture.height, picture.width);
  if (scale < 1)
    picture = resize_bilinear(picture, std::max(1, static_cast<int>(std::lround(picture.height * scale))),
                              std::max(1, static_cast<int>(std::lround(picture.width * scale))));
  return "data:image/png;base64," + base64(encode_png(picture.rgb, picture.height, picture.width));
}

nlohmann::json entry_of(const ReportParts& parts, const ImageSet& pictures, int64_t index) {
  const RoundHistory& last = *parts.result;
  nlohmann::json entry = {{"path", pictures.names[static_cast<size_t>(index)]},
                          {"index", index},
                          {"thumb", thumb_of(pictures, index)},
                          {"prediction", last.label[index].item<int64_t>()},
                          {"confidence", last.confidence[index].item<double>()},
                          {"before", parts.history.rounds.front().label[index].item<int64_t>()},
                          {"truth", nullptr}};
  if (parts.truth.defined()) entry["truth"] = parts.truth[index].item<int64_t>();
  for (int64_t j = 0; j < last.source_label.size(0); ++j)
    entry["sources"].push_back(last.source_label[j][index].item<int64_t>());
  return entry;
}

}  // namespace

nlohmann::json report_gallery(const ReportParts& parts, const ImageSet& pictures, int64_t count) {
  const RoundHistory& last = *parts.result;
  const Tensor falling = std::get<1>(last.confidence.sort(/*stable=*/true, /*dim=*/-1, /*descending=*/true));
  const Tensor rising = std::get<1>(last.confidence.sort(/*stable=*/true, /*dim=*/-1, /*descending=*/false));
  const Tensor changed = (last.label != parts.history.rounds.front().label).index_select(0, falling);
  const auto listed = [&](const Tensor& order) {
    nlohmann::json entries = nlohmann::json::array();
    for (int64_t i = 0; i < std::min(count, order.size(0)); ++i)
      entries.push_back(entry_of(parts, pictures, order[i].item<int64_t>()));
    return entries;
  };
  return {{"most_confident", listed(falling)},
          {"least_confident", listed(rising)},
          {"changed", listed(falling.masked_select(changed))}};
}

}  // namespace tributary
