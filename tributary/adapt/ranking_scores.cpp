#include "tributary/adapt/ranking_scores.h"

#include <algorithm>
#include <cmath>

#include "tributary/adapt/agreement.h"
#include "tributary/adapt/information.h"
#include "tributary/base/random.h"

namespace tributary {
namespace {

Tensor exact(const Tensor& values) {
  return values.detach().to(torch::kFloat64);
}

}  // namespace

double agreement_with_mean(const Tensor& probabilities, const Tensor& mean, const RowBlock& rows) {
  return agreement(probabilities.argmax(-1), mean.argmax(-1), rows);
}

double mutual_information(const Tensor& probabilities, const RowBlock& rows) {
  return -information_loss(exact(probabilities), 0, 0, rows).item<double>();
}

double neighbourhood_density(const Tensor& probabilities, const NeighbourhoodOptions& options) {
  const Tensor p = exact(probabilities);
  const Tensor f = p / p.norm(2, -1, true);
  const int64_t n = f.size(0);
  double sum = 0;
  for (int64_t begin = 0; begin < n; begin += options.block) {
    const int64_t count = std::min(options.block, n - begin);
    const Tensor similarity = f.narrow(0, begin, count).matmul(f.t());
    similarity.narrow(1, begin, count).fill_diagonal_(-1);
    sum += entropy((similarity / options.temperature).softmax(-1), options.epsilon).sum().item<double>();
  }
  return sum / static_cast<double>(n);
}

Tensor neighbourhood_sample(int64_t pictures, int64_t most) {
  if (pictures <= most) return torch::arange(pictures);
  std::vector<int64_t> chosen = Random(0, Purpose::kSplit, {static_cast<uint64_t>(pictures)}).permutation(pictures);
  chosen.resize(static_cast<size_t>(most));
  std::sort(chosen.begin(), chosen.end());
  return torch::tensor(chosen, torch::kInt64);
}

double class_correlation(const Tensor& probabilities, const RowBlock& rows) {
  constexpr int64_t kBlock = 1024;
  const Tensor p = exact(probabilities);
  if (rows.divided()) {
    const double squares = rows.sum(p.t().matmul(p)).square().sum().item<double>();
    return rows.sum(p.square().sum()).item<double>() / std::sqrt(static_cast<double>(p.size(1)) * squares);
  }
  const Tensor smaller = p.size(1) <= p.size(0) ? p : p.t();  // P^T P and P P^T have one norm
  double squares = 0;
  for (int64_t begin = 0; begin < smaller.size(1); begin += kBlock) {
    const int64_t count = std::min(kBlock, smaller.size(1) - begin);
    squares += smaller.t().matmul(smaller.narrow(1, begin, count)).square().sum().item<double>();
  }
  return p.square().sum().item<double>() / std::sqrt(static_cast<double>(p.size(1)) * squares);
}

double mano_score(const Tensor& logits, ManoNorm norm, const RowBlock& rows) {
  const Tensor z = exact(logits);
  const Tensor v = 1 + z + z.square() / 2;
  const Tensor q = norm == ManoNorm::kSoftmax ? z.softmax(-1) : v / v.sum(-1, true);
  const Tensor mean = rows.divided() ? rows.mean(q.pow(4)).mean() : q.pow(4).mean();
  return std::pow(mean.item<double>(), 0.25);
}

double mano_uncertainty(const Tensor& logits, const RowBlock& rows) {
  const Tensor logs = exact(logits).log_softmax(-1);
  return -(rows.divided() ? rows.mean(logs).mean() : logs.mean()).item<double>();
}

ManoNorm mano_norm(double uncertainty) {
  constexpr double kCertain = 5;
  return uncertainty > kCertain ? ManoNorm::kSoftmax : ManoNorm::kTaylor;
}

}  // namespace tributary
