#include "tributary/adapt/cross_labels.h"

#include "tributary/adapt/aggregation.h"
#include "tributary/adapt/selection.h"

namespace tributary {
namespace {

Tensor score_of(const SourceOpinions& opinions, const Tensor& weights) {
  const Tensor mixture = at::tensordot(weights, opinions.logits, {0}, {0}).softmax(-1);
  return opinions.posteriors.defined() ? denoised_score(mixture, normalised_weights(weights), opinions.posteriors)
                                       : mixture;
}

}  // namespace

Tensor cross_labels(const Tensor& label, const SourceOpinions& opinions) {
  const Tensor confidence = std::get<0>(score_of(opinions, opinions.weights).max(-1));
  std::vector<Tensor> labels;
  for (int64_t j = 0; j < opinions.weights.size(0); ++j) {
    Tensor others = opinions.weights.clone();
    others[j] = 0;
    const auto [surety, own] = score_of(opinions, others).max(-1);
    labels.push_back(at::where(surety > confidence, own, label));
  }
  return at::stack(labels);
}

}  // namespace tributary
