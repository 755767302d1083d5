#include "tributary/methods/round_figures.h"

#include <algorithm>
#include <tuple>

#include "tributary/adapt/feature_rows.h"
#include "tributary/adapt/information.h"
#include "tributary/adapt/witness.h"
#include "tributary/base/random.h"
#include "tributary/model/class_sets.h"

namespace tributary {
namespace {

// The label and the confidence of every picture, of all ranks on the host.
std::pair<Tensor, Tensor> columns_of(const Tensor& scores, const RowBlock& rows) {
  const auto [confidence, label] = scores.max(-1);
  return {rows.gather(label).cpu().contiguous(), rows.gather(confidence).to(torch::kCPU, torch::kFloat32).contiguous()};
}

void add_witnesses(RoundFigures& figures, const RoundEvent& event) {
  const Ensemble& ensemble = *event.ensemble;
  const WitnessRule own(ensemble.without_student(event.logits), ensemble.without_student(ensemble.known()));
  const torch::Device device = event.logits.device();
  figures.witness = event.rows.gather(own.labels().to(device), 1).cpu().contiguous();
  figures.others = event.rows.gather(own.others().to(device), 1).cpu().contiguous();
}

}  // namespace

RoundFigures figures_of(const RoundEvent& event) {
  if (event.figures) return *event.figures;
  const torch::NoGradGuard no_grad;
  const RowBlock& rows = event.rows;
  const Tensor& p = event.probabilities;
  RoundFigures figures;
  figures.pictures = rows.total(p.size(0));
  std::tie(figures.label, figures.confidence) = columns_of(p, rows);
  if (event.score.defined()) std::tie(figures.pseudo_label, figures.pseudo_confidence) = columns_of(event.score, rows);
  figures.entropy = rows.mean(entropy(p)).item<double>();
  figures.marginal_entropy = entropy(rows.mean(p)).item<double>();
  figures.information_loss = information_loss(p, kEntropyEpsilon, kEntropyEpsilon, rows).item<double>();
  if (!event.ensemble) return figures;
  const Ensemble& ensemble = *event.ensemble;
  // Trust in a student is trust in what all the others taught it.
  figures.scores = label_free_scores(p, ensemble.without_student(event.weights),
                                     ensemble.members() - (ensemble.has_student ? 1 : 0), rows);
  if (!event.logits.defined()) return figures;
  figures.source_label = rows.gather(own_logits(event.logits, ensemble.known()).argmax(-1), 1).cpu().contiguous();
  if (event.round == 0) add_witnesses(figures, event);
  return figures;
}

Tensor sampled_pictures(int64_t pictures, int64_t count) {
  std::vector<int64_t> chosen = Random(0, Purpose::kSplit, {static_cast<uint64_t>(pictures)}).permutation(pictures);
  chosen.resize(static_cast<size_t>(std::min(count, pictures)));
  std::sort(chosen.begin(), chosen.end());
  return torch::tensor(chosen, torch::kInt64);
}

std::vector<Tensor> sampled_features(const RoundEvent& event, const Tensor& picture) {
  std::vector<Tensor> sampled;
  for (const Tensor& features : event.features) {
    if (!event.rows.divided()) {
      sampled.push_back(chosen_rows_as_float(features, picture, event.probabilities.device()));
      continue;
    }
    // Only the own ones of the sample as float32: the others are added by their ranks.
    const Shard own = event.rows.shard(event.rows.total(0));
    const Tensor here = ((picture >= own.begin).logical_and(picture < own.end)).nonzero().flatten();
    const torch::Device device = event.probabilities.device();
    Tensor values = torch::zeros({picture.size(0), features.size(1)}, at::device(device).dtype(torch::kFloat32));
    values.index_copy_(0, here.to(device),
                       chosen_rows_as_float(features, picture.index_select(0, here) - own.begin, device));
    sampled.push_back(event.rows.sum(values).cpu());
  }
  return sampled;
}

}  // namespace tributary
