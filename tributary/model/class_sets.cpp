#include "tributary/model/class_sets.h"

#include <algorithm>
#include <cmath>

#include "tributary/model/ensemble.h"

namespace tributary {

OutputMap::OutputMap(const std::vector<int64_t>& outputs, int64_t classes) {
  std::vector<std::vector<int64_t>> of_class(static_cast<size_t>(classes));
  bool is_identity = static_cast<int64_t>(outputs.size()) == classes;
  for (size_t o = 0; o < outputs.size(); ++o) {
    of_class[static_cast<size_t>(outputs[o])].push_back(static_cast<int64_t>(o));
    is_identity = is_identity && outputs[o] == static_cast<int64_t>(o);
  }
  if (is_identity) return;
  size_t most = 1;
  for (const auto& own : of_class) most = std::max(most, own.size());
  table_ = torch::full({classes, static_cast<int64_t>(most)}, -1, torch::kInt64);
  for (int64_t k = 0; k < classes; ++k) {
    const auto& own = of_class[static_cast<size_t>(k)];
    for (size_t p = 0; p < own.size(); ++p) table_[k][static_cast<int64_t>(p)] = own[p];
  }
  const Tensor known = table_.select(1, 0) >= 0;
  if (!known.all().item<bool>()) known_ = known;
}

Tensor OutputMap::apply(const Tensor& logits) const {
  if (empty()) return logits;
  constexpr double kNone = -1e30;  // finite, so that gradients are numbers
  const int64_t outputs = logits.size(1), classes = table_.size(0);
  const Tensor extended = at::constant_pad_nd(logits, {0, 1}, kNone);
  const Tensor index = at::where(table_ >= 0, table_, outputs).flatten();
  Tensor own = extended.index_select(1, index).view({-1, classes, table_.size(1)});
  own = table_.size(1) == 1 ? own.squeeze(-1) : own.logsumexp(-1);
  return known_.defined() ? own.masked_fill(known_.logical_not(), 0) : own;
}

void OutputMap::to(torch::Device device) {
  if (table_.defined()) table_ = table_.to(device);
  if (known_.defined()) known_ = known_.to(device);
}

Tensor complete_logits(const Tensor& logits, const Tensor& known) {
  if (!known.defined()) return logits;
  const Tensor unknown = known.logical_not().unsqueeze(1).to(logits.device());  // [m, 1, K]
  // The normal equations of c, with u eliminated; their matrix is the same for all pictures and singular, because a
  // constant can move from u to c.
  const Tensor a = known.to(torch::kCPU, torch::kFloat64);
  const Tensor knowing = a.sum(0);  // [K]
  const Tensor share = a / knowing;
  const Tensor inverse = at::linalg_pinv(at::diag(a.sum(1)) - share.matmul(a.t()));
  const auto here = [&](const Tensor& tensor) { return tensor.to(logits.device(), logits.scalar_type()); };
  const Tensor z = logits.masked_fill(unknown, 0);
  const Tensor mean = z.sum(0) / here(knowing);                  // [n, K]
  const Tensor residual = z.sum(-1) - here(a).matmul(mean.t());  // [m, n]
  const Tensor offset = here(inverse).matmul(residual);          // c, [m, n]
  const Tensor common = mean - offset.t().matmul(here(share));   // u, [n, K]
  return at::where(unknown, common.unsqueeze(0) + offset.unsqueeze(-1), logits);
}

Tensor own_logits(const Tensor& logits, const Tensor& known) {
  if (!known.defined()) return logits;
  return logits.masked_fill(known.logical_not().unsqueeze(1).to(logits.device()), -INFINITY);
}

Tensor votes(const Tensor& logits, const Tensor& known) {
  const Tensor label = logits.argmax(-1);
  if (!known.defined()) return label;
  return at::where(known.to(label.device()).gather(1, label), label, kAbstains);
}

int64_t first_unlinked(const Tensor& known) {
  const Tensor a = known.to(torch::kCPU, torch::kFloat32);
  Tensor reached = torch::zeros({a.size(0)}, torch::kFloat32);
  reached[0] = 1;
  for (int64_t step = 0; step < a.size(0); ++step)
    reached = (reached + a.matmul(reached.matmul(a)) > 0).to(torch::kFloat32);
  const Tensor others = (reached == 0).nonzero();
  return others.numel() > 0 ? others.min().item<int64_t>() : -1;
}

bool are_linked(const Tensor& known) {
  return known.any(0).all().item<bool>() && first_unlinked(known) < 0;
}

void keep_known_classes(SourceModel& source) {
  const Tensor known = source.known();
  if (!known.defined()) return;
  std::vector<std::string> names;
  std::vector<int64_t> place(source.info().classes.size(), -1), outputs = source.outputs();
  for (size_t k = 0; k < place.size(); ++k) {
    if (!known[static_cast<int64_t>(k)].item<bool>()) continue;
    place[k] = static_cast<int64_t>(names.size());
    names.push_back(source.info().classes[k]);
  }
  for (int64_t& output : outputs) output = place[static_cast<size_t>(output)];
  source.set_classes(std::move(names), std::move(outputs));
}

std::map<std::string, std::vector<std::string>> partly_known(const Ensemble& ensemble) {
  std::map<std::string, std::vector<std::string>> partly;
  const Tensor known = ensemble.known();
  const std::vector<std::string> names = ensemble.member_names();
  const int64_t student = ensemble.has_student ? ensemble.size() - 1 : -1;  // it knows what it was taught
  for (int64_t k = 0; known.defined() && k < known.size(1); ++k) {
    if (known.select(1, k).all().item<bool>()) continue;
    std::vector<std::string>& knowing = partly[ensemble.classes()[static_cast<size_t>(k)]];
    for (int64_t j = 0; j < known.size(0); ++j)
      if (j != student && known[j][k].item<bool>()) knowing.push_back(names[static_cast<size_t>(j)]);
  }
  return partly;
}

}  // namespace tributary
