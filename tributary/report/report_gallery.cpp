// "gallery" of the report: thumbnails of the most and least confident and the changed pictures.
#include <algorithm>

#include "tributary/report/report_data.h"
#include "tributary/report/thumbnail.h"

namespace tributary {
namespace {

constexpr int kSide = 96;

nlohmann::json entry_of(const ReportParts& parts, const ImageSet& pictures, int64_t index) {
  const RoundHistory& last = *parts.result;
  nlohmann::json entry = {{"path", pictures.names[static_cast<size_t>(index)]},
                          {"index", index},
                          {"thumb", thumbnail(pictures, index, kSide)},
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
