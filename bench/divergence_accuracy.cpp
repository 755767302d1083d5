// Measures the accuracy of the divergence estimate (bound/divergence.h): the tables of docs/bound.md.
//
//   divergence_accuracy [samples per set] [repeats] [pairs|clusters]
//
// Uses pairs of Gaussians, whose divergence is known in closed form, and subsets of a clustered set that are drawn with
// known probability.
#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <ctime>
#include <string>
#include <vector>

#include "tributary/base/random.h"
#include "tributary/base/text.h"
#include "tributary/bound/divergence.h"

namespace tributary {
namespace {

Tensor normals(int64_t rows, int64_t columns, Random random) {
  Tensor tensor = torch::empty({rows, columns}, torch::kFloat64);
  for (int64_t i = 0; i < tensor.numel(); ++i) tensor.data_ptr<double>()[i] = random.normal();
  return tensor;
}

struct Gaussian {
  Tensor mean, root;  // [d], and [d, d] with covariance root root^T

  Tensor covariance() const { return root.matmul(root.t()); }
  Tensor draw(int64_t count, const Random& random) const {
    return normals(count, mean.size(0), random).matmul(root.t()) + mean;
  }
};

double divergence_of(const Gaussian& p, const Gaussian& q) {
  return gaussian_divergence(p.mean, p.covariance(), q.mean, q.covariance());
}

// Changes q by `amount` in the given way.
Gaussian changed(const Gaussian& q, const std::string& change, double amount) {
  const int64_t d = q.mean.size(0);
  Gaussian p = q;
  if (change == "mean") {
    p.mean = q.mean + q.root.matmul(torch::full({d}, amount / std::sqrt(static_cast<double>(d)), torch::kFloat64));
  } else if (change == "scale") {
    p.root = q.root * std::exp(amount);
  } else if (change == "one direction") {
    p.root = q.root.clone();
    p.root.select(1, 0).mul_(std::exp(-amount));
  } else {  // all directions
    const Tensor noise = normals(d, d, Random(77)) / std::sqrt(static_cast<double>(d));
    p.root = q.root.matmul(at::matrix_exp(amount * (noise + noise.t()) / 2));
  }
  return p;
}

// Changes q so that the divergence is `nats`.
Gaussian changed_by(const Gaussian& q, const std::string& change, double nats) {
  double low = 0, high = 8;
  for (int i = 0; i < 50; ++i) {
    const double middle = (low + high) / 2;
    (divergence_of(changed(q, change, middle), q) < nats ? low : high) = middle;
  }
  return changed(q, change, low);
}

struct Measured {
  std::vector<double> value, held_out, seconds;

  template <typename Estimate>
  void add(Estimate estimate) {
    const std::clock_t start = std::clock();
    const Divergence divergence = *estimate();
    seconds.push_back(static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC);
    value.push_back(divergence.value);
    held_out.push_back(divergence.held_out);
  }
  void print(const std::string& name, double truth, double cap) const {
    const auto [mean, deviation] = mean_and_deviation(value);
    fmt::print("| {} | {:.3f} | {:.3f} | {:.3f} ± {:.3f} | {:.3f} | {} | {:.2f} |\n", name, std::abs(truth), cap, mean,
               deviation, mean_and_deviation(held_out).mean,
               truth > 1e-9 ? fmt::format("{:+.1f} %", 100 * (mean / truth - 1)) : "",
               mean_and_deviation(seconds).mean);
    std::fflush(stdout);
  }
};

void gaussian_pairs(int64_t samples, uint64_t repeats) {
  for (const int64_t d : {2, 8, 64}) {
    const Gaussian q{torch::zeros({d}, torch::kFloat64),
                     normals(d, d, Random(7)) / std::sqrt(double(d)) + torch::eye(d, torch::kFloat64)};
    for (const std::string change : {"mean", "scale", "one direction", "all directions"})
      for (const double nats : {0.0, 0.1, 0.5, 1.0, 2.0, 4.0}) {
        if (nats == 0 && change != "mean") continue;
        const Gaussian p = nats == 0 ? q : changed_by(q, change, nats);
        Measured measured;
        for (uint64_t seed = 0; seed < repeats; ++seed) {
          const Tensor a = p.draw(samples, Random(seed).child(0)), b = q.draw(samples, Random(seed).child(1));
          measured.add([&] { return divergence_between(a, b); });
        }
        measured.print(fmt::format("d = {}, {}", d, nats == 0 ? "equal" : change), divergence_of(p, q),
                       std::log(double(samples)));
      }
  }
}

// Ten clusters in 50 dimensions that differ in 12 of them, like principal components of features.
struct Clusters {
  Tensor features, label;  // [n, 50], [n]
  Tensor distance;         // [n, 10], to the centres

  Clusters(int64_t n, uint64_t seed) {
    constexpr int64_t kWidth = 50, kInformative = 12, kClasses = 10;
    Tensor centre = torch::zeros({kClasses, kWidth}, torch::kFloat64);
    centre.narrow(1, 0, kInformative).copy_(normals(kClasses, kInformative, Random(5)) * 2.1);
    Random random(seed);
    std::vector<int64_t> own;
    for (int64_t i = 0; i < n; ++i) own.push_back(random.below(kClasses));
    features = centre.index_select(0, torch::tensor(own)) +
               normals(n, kWidth, Random(seed).child(1)) * torch::linspace(1, 0.2, kWidth, torch::kFloat64);
    distance = at::cdist(features, centre);
    label = distance.argmin(1);
  }
};

void cluster_subsets(int64_t samples, uint64_t repeats) {
  for (const std::string by : {"margin", "radius", "class"})
    for (const double sharpness : {1.0, 3.0, 1000.0}) {
      Measured with, without;
      double truth = 0, cap = 0;
      for (uint64_t seed = 0; seed < repeats; ++seed) {
        const auto probability = [&](const Clusters& set) {
          const Tensor two = std::get<0>(set.distance.topk(2, 1, false));
          Tensor score = by == "margin"   ? two.select(1, 1).square() - two.select(1, 0).square()
                         : by == "radius" ? -two.select(1, 0)
                                          : (set.label % 3).to(torch::kFloat64);
          score = (score - score.mean()) / score.std();
          return (sharpness * (score + 0.5)).sigmoid();
        };
        const Tensor pi = probability(Clusters(50000, 1000));  // a large set, for the true value
        const double share = pi.mean().item<double>();
        truth = ((pi * pi.clamp_min(1e-300).log()).mean() / share).item<double>() - std::log(share);
        cap = -std::log(share);
        const Clusters set(samples, seed);
        const Tensor chance = probability(set);
        Random random(100 + seed);
        Tensor member = torch::empty({samples}, torch::kBool);
        for (int64_t i = 0; i < samples; ++i) member.data_ptr<bool>()[i] = random.chance(chance[i].item<double>());
        with.add([&] { return divergence_of_subset(set.features, member, set.label); });
        without.add([&] { return divergence_of_subset(set.features, member); });
      }
      with.print(fmt::format("by {}, sharpness {}", by, sharpness), truth, cap);
      without.print(fmt::format("by {}, sharpness {}, no groups", by, sharpness), truth, cap);
    }
}

}  // namespace
}  // namespace tributary

int main(int argc, char** argv) {
  const int64_t samples = argc > 1 ? std::atoll(argv[1]) : 4000;
  const uint64_t repeats = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 5;
  const std::string which = argc > 3 ? argv[3] : "both";
  fmt::print("| case | D | cap | estimate | held out | error | CPU s |\n|---|---|---|---|---|---|---|\n");
  if (which != "clusters") tributary::gaussian_pairs(samples, repeats);
  if (which != "pairs") tributary::cluster_subsets(samples, repeats);
  return 0;
}
