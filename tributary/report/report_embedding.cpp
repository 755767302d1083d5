// "embedding" of the report: t-SNE of a few rounds.
#include <algorithm>

#include "tributary/base/base64.h"
#include "tributary/embedding/tsne.h"
#include "tributary/report/report_data.h"

namespace tributary {
namespace {

std::string packed(const Tensor& tensor, torch::ScalarType type) {
  const Tensor host = tensor.to(type).contiguous();
  return base64({static_cast<const uint8_t*>(host.data_ptr()), host.nbytes()});
}

// `count` indices of 0 .. last, evenly spaced, including both ends.
std::vector<size_t> spread(size_t last, int64_t count) {
  std::vector<size_t> chosen;
  const auto steps = static_cast<size_t>(std::max<int64_t>(1, count - 1));
  for (size_t i = 0; i <= steps; ++i) {
    const size_t index = (i * last + steps / 2) / steps;
    if (chosen.empty() || chosen.back() != index) chosen.push_back(index);
  }
  return chosen;
}

nlohmann::json round_entry(const ReportParts& parts, size_t index, const Tensor& pictures, const Tensor& embedding) {
  const RoundHistory& round = parts.history.rounds[index];
  const Tensor label = (round.pseudo_label.defined() ? round.pseudo_label : round.label).index_select(0, pictures);
  const Tensor confident = round.confident.defined() ? round.confident.index_select(0, pictures)
                                                     : torch::zeros({pictures.size(0)}, torch::kBool);
  const Tensor agreement = (round.source_label.index_select(1, pictures) == round.label.index_select(0, pictures))
                               .to(torch::kFloat32)
                               .mean(0);
  return {{"round", round.round},
          {"xy", packed(embedding, torch::kFloat32)},
          {"label", packed(label, torch::kInt16)},
          {"confident", packed(confident, torch::kUInt8)},
          {"agreement", packed(agreement, torch::kFloat32)}};
}

// t-SNE of the given rounds, each initialised with the previous one and then without early exaggeration.
nlohmann::json embedded(const ReportParts& parts, const std::vector<size_t>& rounds, const Tensor& pictures,
                        int threads) {
  const RoundHistory& last = parts.history.rounds.back();
  nlohmann::json result = {{"sampled", pictures.size(0)},
                           {"of", last.label.size(0)},
                           {"pictures", packed(pictures, torch::kInt32)},
                           {"truth", nullptr}};
  if (parts.truth.defined()) result["truth"] = packed(parts.truth.index_select(0, pictures), torch::kInt16);
  TsneOptions options;
  options.threads = threads;
  Tensor embedding;
  for (const size_t index : rounds) {
    const RoundHistory& round = parts.history.rounds[index];
    const Tensor features = round.features.index_select(0, feature_rows(round, pictures));
    embedding = tsne(features, options, embedding).embedding;
    options.early = 0;
    options.iterations = 400;
    result["rounds"].push_back(round_entry(parts, index, pictures, embedding));
  }
  return result;
}

}  // namespace

Tensor evenly_spread(int64_t count, int64_t points) {
  if (count <= points) return torch::arange(count);
  const double step = static_cast<double>(count) / static_cast<double>(points);
  return (torch::arange(points, torch::kFloat64) * step).floor().to(torch::kInt64);
}

Tensor feature_rows(const RoundHistory& round, const Tensor& pictures) {
  return at::searchsorted(round.sample.contiguous(), pictures.contiguous());
}

nlohmann::json report_embedding(const ReportParts& parts, const ReportOptions& options) {
  const size_t last = parts.history.rounds.size() - 1;
  const Tensor& sample = parts.history.rounds.front().sample;
  const Tensor pictures = sample.index_select(0, evenly_spread(sample.size(0), options.points));
  nlohmann::json result = embedded(parts, spread(last, options.embedded_rounds), pictures, options.threads);
  const Tensor& all = parts.history.rounds.back().sample;
  if (options.all_points && all.size(0) > pictures.size(0))
    result["full"] = embedded(parts, {last}, all, options.threads);
  return result;
}

}  // namespace tributary
