#include "tributary/run/round_scores.h"

#include <nlohmann/json.hpp>

namespace tributary {
namespace {

constexpr const char* kSum = "scores.sum";

}  // namespace

nlohmann::json RoundScores::of(const RoundEvent& event) {
  torch::NoGradGuard no_grad;
  const Tensor& p = event.probabilities;
  sum_ = event.round == 0 || !sum_.defined() ? p.clone() : sum_.to(p.device()) + p;
  const Tensor sample = neighbourhood_sample(p.size(0)).to(p.device());
  nlohmann::json scores = {{"agreement_with_mean", agreement_with_mean(p, sum_)},
                           {"mutual_information", mutual_information(p)},
                           {"neighbourhood_density", neighbourhood_density(p.index_select(0, sample))},
                           {"class_correlation", class_correlation(p)}};
  if (!event.logits.defined()) return scores;
  const int64_t sources = event.logits.size(0);
  if (!mano_) {
    double uncertainty = 0;
    for (int64_t j = 0; j < sources; ++j)
      uncertainty += mano_uncertainty(event.logits[j]) / static_cast<double>(sources);
    mano_ = mano_norm(uncertainty);
  }
  double mano = 0;
  for (int64_t j = 0; j < sources; ++j) mano += mano_score(event.logits[j], *mano_) / static_cast<double>(sources);
  scores["mano"] = mano;
  return scores;
}

void RoundScores::save(nlohmann::json& state) const {
  if (mano_) state["mano_softmax"] = *mano_ == ManoNorm::kSoftmax;
}

void RoundScores::restore(const nlohmann::json& state) {
  if (state.contains("mano_softmax"))
    mano_ = state.at("mano_softmax").get<bool>() ? ManoNorm::kSoftmax : ManoNorm::kTaylor;
}

NamedTensors RoundScores::tensors() const {
  if (!sum_.defined()) return {};
  return {{kSum, sum_.to(torch::kCPU, torch::kFloat32)}};
}

void RoundScores::restore_tensors(const NamedTensors& tensors) {
  for (const NamedTensor& tensor : tensors)
    if (tensor.name == kSum) sum_ = tensor.value;
}

void RoundScores::require_fit(const RunShape& shape) const {
  if (sum_.defined()) require_numbers(sum_, {shape.pictures, shape.classes}, "the sum of the predictions");
}

}  // namespace tributary
