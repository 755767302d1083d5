#include "tributary/run/round_scores.h"

#include "tributary/train/gathered_rows.h"

namespace tributary {
namespace {

constexpr const char* kSum = "scores.sum";

}  // namespace

void RoundScores::on_round(const RoundEvent& event) {
  torch::NoGradGuard no_grad;
  const RowBlock& rows = event.rows;
  const Tensor& p = event.probabilities;
  share_restored(event);
  sum_ = event.round == 0 || !sum_.defined() ? p.clone() : sum_.to(p.device()) + p;
  saved_ = Tensor();  // closes its file before the next one is made
  saved_ = rows_on_first(sum_, rows);
  const Tensor sample = neighbourhood_sample(rows.total(p.size(0))).to(p.device());
  last_ = {{"agreement_with_mean", agreement_with_mean(p, sum_, rows)},
           {"mutual_information", mutual_information(p, rows)},
           {"neighbourhood_density", neighbourhood_density(rows.select(p, sample))},
           {"class_correlation", class_correlation(p, rows)}};
  if (event.logits.defined()) last_["mano"] = mano_of(event);
}

double RoundScores::mano_of(const RoundEvent& event) {
  const int64_t sources = event.logits.size(0);
  if (!mano_) {
    double uncertainty = 0;
    for (int64_t j = 0; j < sources; ++j)
      uncertainty += mano_uncertainty(event.logits[j], event.rows) / static_cast<double>(sources);
    mano_ = mano_norm(uncertainty);
  }
  double mano = 0;
  for (int64_t j = 0; j < sources; ++j)
    mano += mano_score(event.logits[j], *mano_, event.rows) / static_cast<double>(sources);
  return mano;
}

// Only the first rank restores a checkpoint: gives the others their rows of the sum, and the norm.
void RoundScores::share_restored(const RoundEvent& event) {
  if (!event.rows.divided() || std::exchange(shared_, true)) return;
  constexpr int64_t kUnknown = -1;
  const int64_t norm = !mano_ ? kUnknown : *mano_ == ManoNorm::kSoftmax ? 1 : 0;
  Tensor state = torch::tensor({int64_t{sum_.defined()}, norm}, torch::kInt64);
  event.rows.comm()->broadcast(state, 0);
  const auto known = state[1].item<int64_t>();
  if (known != kUnknown) mano_ = known == 1 ? ManoNorm::kSoftmax : ManoNorm::kTaylor;
  if (state[0].item<int64_t>() != 0)
    sum_ = own_rows_from_first(sum_, event.probabilities.size(1), event.rows).to(event.probabilities.device());
}

void RoundScores::save(nlohmann::json& state) const {
  if (mano_) state["mano_softmax"] = *mano_ == ManoNorm::kSoftmax;
}

void RoundScores::restore(const nlohmann::json& state) {
  if (state.contains("mano_softmax"))
    mano_ = state.at("mano_softmax").get<bool>() ? ManoNorm::kSoftmax : ManoNorm::kTaylor;
}

NamedTensors RoundScores::tensors() const {
  if (!saved_.defined()) return {};
  return {{kSum, saved_.to(torch::kCPU, torch::kFloat32)}};
}

void RoundScores::restore_tensors(const NamedTensors& tensors) {
  for (const NamedTensor& tensor : tensors)
    if (tensor.name == kSum) sum_ = saved_ = tensor.value;
}

void RoundScores::require_fit(const RunShape& shape) const {
  if (sum_.defined()) require_numbers(sum_, {shape.pictures, shape.classes}, "the sum of the predictions");
}

}  // namespace tributary
