#include "tributary/embedding/tsne.h"

#include <cmath>
#include <numeric>

#include "tests/support/dump.h"
#include "tests/support/python.h"
#include "tests/support/temp_dir.h"
#include "tests/support/tensors.h"
#include "tributary/base/error.h"
#include "tributary/embedding/nearest_neighbours.h"
#include "tributary/embedding/principal_components.h"
#include "tributary/tsne/affinities.h"
#include "tributary/tsne/repulsion.h"

namespace tributary {
namespace {

double perplexity_of(const std::vector<float>& p) {
  double entropy = 0;
  for (const float value : p) entropy -= value > 0 ? value * std::log(value) : 0;
  return std::exp(entropy);
}

std::vector<float> spread(const std::vector<float>& squared, double perplexity) {
  std::vector<float> p(squared.size());
  spread_by_perplexity(squared, perplexity, p);
  return p;
}

// Clusters of unit variance whose centres have distance `apart`; point i is in cluster i % groups.
Tensor clusters(int64_t points, int64_t width, int64_t groups, double apart, uint64_t seed) {
  const Tensor centres = torch::eye(groups, width) * (apart / std::sqrt(2.0));
  return test::normals({points, width}, seed) + centres.index_select(0, torch::arange(points) % groups);
}

// Repulsive forces [n, 2] and Z as sums over all pairs in double precision.
std::pair<Tensor, double> exact_repulsion(const Tensor& places) {
  const Tensor y = places.to(torch::kFloat64), difference = y.unsqueeze(1) - y.unsqueeze(0);
  const Tensor w = (1 + difference.square().sum(-1)).reciprocal();
  return {(w.square().unsqueeze(-1) * difference).sum(1), w.sum().item<double>() - static_cast<double>(y.size(0))};
}

std::pair<Tensor, double> repulsion_of(const Tensor& places, double angle) {
  const Tensor columns = places.t().contiguous();
  Repulsion repulsion(places.size(0), angle);
  repulsion.place(columns[0].data_ptr<float>(), columns[1].data_ptr<float>());
  for (int64_t part = repulsion.parts() - 1; part >= 0; --part) repulsion.compute(part);
  return {at::stack({torch::tensor(repulsion.x()), torch::tensor(repulsion.y())}, 1), repulsion.total()};
}

TEST(Perplexity, EqualDistancesGiveUniformProbabilities) {
  for (const double perplexity : {1.0, 4.0, 8.0, 100.0})
    for (const float p : spread({2, 2, 2, 2, 2, 2, 2, 2}, perplexity)) EXPECT_NEAR(p, 0.125, 1e-6) << perplexity;
}

TEST(Perplexity, MatchesTheRequestedValue) {
  std::vector<float> squared(91);
  for (size_t j = 0; j < squared.size(); ++j) squared[j] = 1e-3f * static_cast<float>(1 + j * j);
  for (const double perplexity : {1.5, 5.0, 30.0, 90.0}) {
    const std::vector<float> p = spread(squared, perplexity);
    EXPECT_NEAR(perplexity_of(p), perplexity, 1e-4 * perplexity);
    EXPECT_NEAR(std::accumulate(p.begin(), p.end(), 0.0), 1, 1e-5);
    EXPECT_TRUE(std::is_sorted(p.rbegin(), p.rend()));
  }
}

TEST(Perplexity, OfTwoNeighboursMatchesTheClosedForm) {
  // p = (0.8, 0.2) has perplexity exp(0.500402); the ratio 4 is exp(beta * 2), so distances of any scale give it.
  for (const float scale : {1e-12f, 1.f, 1e12f}) {
    const std::vector<float> p = spread({1 * scale, 3 * scale}, std::exp(0.500402));
    EXPECT_NEAR(p[0], 0.8, 1e-4);
    EXPECT_NEAR(p[1], 0.2, 1e-4);
  }
}

TEST(Perplexity, OfManyDuplicatesIsTheirNumber) {
  const std::vector<float> p = spread({0, 0, 0, 0, 1, 2}, 2);
  for (size_t j = 0; j < p.size(); ++j) EXPECT_NEAR(p[j], j < 4 ? 0.25 : 0, 1e-4);
}

TEST(Affinities, AreTheMeanOfBothDirections) {
  // Points 0, 1 and 3 of a line, each with its one nearest neighbour: 0 -> 1, 1 -> 0, 3 -> 1.
  const NearRows near{3, 1, {1, 0, 1}, {1, 1, 4}};
  const Affinities affinities = affinities_of(near, 1, 1);
  EXPECT_EQ(affinities.begin, (std::vector<int64_t>{0, 1, 3, 4}));
  EXPECT_EQ(affinities.index, (std::vector<int32_t>{1, 0, 2, 1}));
  EXPECT_TENSOR_NEAR(torch::tensor(affinities.p), torch::tensor({2 / 6., 2 / 6., 1 / 6., 1 / 6.}), 1e-7);
}

TEST(Affinities, AreSymmetricAndSumToOne) {
  const NearRows near = nearest_rows_of(test::normals({300, 5}, 1), 31, 1);
  const Affinities affinities = affinities_of(near, 10, 2);
  Tensor dense = torch::zeros({300, 300});
  for (int64_t i = 0; i < 300; ++i)
    for (int64_t e = affinities.begin[i]; e < affinities.begin[i + 1]; ++e)
      dense[i][affinities.index[e]] = affinities.p[e];
  EXPECT_TENSOR_EQ(dense, dense.t().contiguous());
  EXPECT_NEAR(dense.sum().item<double>(), 1, 1e-5);
  EXPECT_EQ(dense.diagonal().abs().max().item<double>(), 0);
}

TEST(NearestNeighbours, MatchBruteForce) {
  const Tensor features = test::normals({500, 37}, 2);
  const NearRows near = nearest_rows_of(features, 20, 2);
  Tensor distance = at::cdist(features, features, 2.0, /*compute_mode=*/2);
  distance.fill_diagonal_(INFINITY);
  const auto [sorted, order] = distance.sort(1);
  EXPECT_TENSOR_EQ(torch::tensor(near.index).to(torch::kInt64).view({500, 20}), order.narrow(1, 0, 20).contiguous());
  EXPECT_TENSOR_NEAR(torch::tensor(near.squared).sqrt().view({500, 20}), sorted.narrow(1, 0, 20), 1e-5);
}

TEST(NearestNeighbours, BreakTiesByIndexAndExcludeThePointItself) {
  const NearRows near = nearest_rows_of(torch::tensor({3.f, 7.f, 3.f, 3.f}).view({4, 1}), 2, 1);
  EXPECT_EQ(near.index, (std::vector<int32_t>{2, 3, 0, 2, 0, 3, 0, 2}));
  EXPECT_EQ(near.squared, (std::vector<float>{0, 0, 16, 16, 0, 0, 0, 0}));
}

TEST(PrincipalScores, MatchTheSingularValueDecomposition) {
  Tensor features = test::normals({400, 6}, 3) * torch::tensor({1.f, 9.f, 0.1f, 4.f, 0.5f, 0.2f});
  features = features - features.mean(0, true);
  const Tensor scores = principal_scores(features, 2, Random(1));
  const auto [u, s, v] = at::linalg_svd(features.to(torch::kFloat64), false);
  EXPECT_TENSOR_NEAR(scores.abs(), (u * s).narrow(1, 0, 2).abs(), 1e-6);
  EXPECT_TENSOR_NEAR(scores.select(1, 0), features.select(1, 1), 1.5);
}

TEST(PrincipalScores, OfOneFeatureHaveOneColumn) {
  const Tensor features = torch::tensor({-1.f, 0.f, 1.f}).view({3, 1});
  EXPECT_TENSOR_NEAR(principal_scores(features, 2, Random(1)), features, 1e-12);
}

TEST(Repulsion, OfPairsIsMinusAQuarterOfTheGradientOfLogZ) {
  const Tensor places = 2 * test::normals({60, 2}, 4);
  const auto [force, total] = repulsion_of(places, 0);
  constexpr double kStep = 1e-4;
  for (int64_t i : {0, 17, 59}) {
    for (int64_t c : {0, 1}) {
      const auto log_total = [&](double step) {
        Tensor moved = places.to(torch::kFloat64);
        moved[i][c] += step;
        return std::log(exact_repulsion(moved).second);
      };
      const double slope = (log_total(kStep) - log_total(-kStep)) / (2 * kStep);
      EXPECT_NEAR(-4 * force[i][c].item<double>() / total, slope, 1e-5 * std::fabs(slope) + 1e-8) << i << " " << c;
    }
  }
}

TEST(Repulsion, OfTheTreeApproximatesThatOfPairs) {
  // Separate clusters as at the end of a descent, one Gaussian, and a tiny one as at the beginning.
  const Tensor islands = clusters(2000, 2, 2, 30, 5);
  for (const Tensor& places : {islands, 10 * test::normals({2000, 2}, 7), 1e-4 * test::normals({2000, 2}, 8)}) {
    const auto [expected, expected_total] = exact_repulsion(places);
    for (const auto& [angle, total_error, force_error] : {std::tuple(0.5, 1e-3, 1e-2), std::tuple(0.2, 2e-5, 1e-3)}) {
      const auto [force, total] = repulsion_of(places, angle);
      EXPECT_NEAR(total / expected_total, 1, total_error) << angle;
      EXPECT_LE((force - expected).norm().item<double>(), force_error * expected.norm().item<double>()) << angle;
    }
  }
}

TEST(Repulsion, HandlesManyCoincidentPoints) {
  // 3,000 points at two locations: each repels 1,500 points, and coincident points exert no force.
  const Tensor places = torch::tensor({-1.f, 0.f, 1.f, 0.f}).view({2, 2}).repeat({1500, 1});
  const auto [force, total] = repulsion_of(places, 0.5);
  EXPECT_NEAR(total, 3000 * (1499 + 1500 / 5.0), 1);
  EXPECT_TENSOR_NEAR(force, places * (1500 * 2 / 25.0), 1e-3);
}

TEST(Repulsion, HandlesADistantOutlier) {
  Tensor places = test::normals({1500, 2}, 9);
  places[7] = 1e8;
  const auto [expected, expected_total] = exact_repulsion(places);
  const auto [force, total] = repulsion_of(places, 0.5);
  EXPECT_NEAR(total / expected_total, 1, 1e-3);
  EXPECT_LE((force - expected).norm().item<double>(), 1e-2 * expected.norm().item<double>());
}

TEST(Tsne, DependsOnTheSeedButNotOnTheThreadCount) {
  TsneOptions options;
  options.iterations = 300;
  const Tensor features = clusters(1500, 20, 5, 8, 10);
  options.threads = 1;
  const TsneResult one = tsne(features, options);
  options.threads = 3;
  const TsneResult three = tsne(features, options);
  EXPECT_TENSOR_EQ(one.embedding, three.embedding);
  EXPECT_EQ(one.divergence, three.divergence);
  options.seed = 1;
  EXPECT_FALSE(torch::equal(one.embedding, tsne(features, options).embedding));
}

// Fraction of points whose nearest neighbour in the plane is of the same cluster.
double purity(const Tensor& embedding, int64_t groups) {
  const NearRows near = nearest_rows_of(embedding, 1, 1);
  int64_t pure = 0;
  for (int64_t i = 0; i < near.points; ++i) pure += near.index[i] % groups == i % groups;
  return static_cast<double>(pure) / static_cast<double>(near.points);
}

TEST(Tsne, KeepsSeparatedClustersApart) {
  constexpr int64_t kGroups = 6;
  for (const int64_t components : {0, 10}) {
    for (const int64_t points : {300, 1200}) {  // pairwise, and with the tree
      TsneOptions options;
      options.iterations = 500;
      options.components = components;
      const TsneResult result = tsne(clusters(points, 40, kGroups, 20, 11), options);
      EXPECT_EQ(purity(result.embedding, kGroups), 1) << points;
      EXPECT_LT(result.divergence, 1.5);
      // The radius of every cluster is smaller than its distance to any other.
      Tensor centre = torch::zeros({kGroups, 2});
      const Tensor group = torch::arange(points) % kGroups;
      centre.index_add_(0, group, result.embedding).mul_(static_cast<double>(kGroups) / static_cast<double>(points));
      const double radius = (result.embedding - centre.index_select(0, group)).norm(2, 1).mean().item<double>();
      Tensor between = at::cdist(centre, centre);
      between.fill_diagonal_(INFINITY);
      EXPECT_GT(between.min().item<double>(), 2 * radius) << points;
    }
  }
}

TEST(Tsne, TreeReachesTheDivergenceOfPairs) {
  const Tensor features = clusters(1200, 20, 5, 8, 20);
  TsneOptions options;
  options.iterations = 600;
  const double tree = tsne(features, options).divergence;
  options.angle = 0;
  EXPECT_NEAR(tree / tsne(features, options).divergence, 1, 0.02);
}

TEST(Tsne, ContinuesFromAGivenStart) {
  const Tensor features = clusters(300, 20, 6, 20, 12);
  TsneOptions options;
  const Tensor first = tsne(features, options).embedding;
  options.seed = 1;
  const Tensor moved = features + 0.1 * test::normals({300, 20}, 13);
  options.early = 0;
  options.iterations = 300;
  const TsneResult next = tsne(moved, options, first);
  EXPECT_LT((next.embedding - first).norm().item<double>(), 0.2 * first.norm().item<double>());
  EXPECT_LT(next.divergence, 1.05 * tsne(moved).divergence);
}

TEST(Tsne, IsInvariantToTheScaleOfFeatures) {
  // Powers of two scale without rounding, so results are bit-identical.
  const Tensor features = clusters(100, 8, 3, 10, 14);
  TsneOptions options;
  options.iterations = 260;
  const Tensor plain = tsne(features, options).embedding;
  EXPECT_TENSOR_EQ(tsne(features * 0x1p-60, options).embedding, plain);
  EXPECT_TENSOR_EQ(tsne(features * 0x1p+60, options).embedding, plain);
  EXPECT_TENSOR_EQ(tsne(features.to(torch::kFloat64) * 0x1p+600, options).embedding.isfinite().all(),
                   torch::tensor(true));
}

TEST(Tsne, EmbedsFewPoints) {
  TsneOptions options;
  options.iterations = 300;
  EXPECT_EQ(tsne(torch::zeros({0, 4}), options).embedding.sizes(), torch::IntArrayRef({0, 2}));
  EXPECT_TENSOR_EQ(tsne(torch::ones({1, 4}), options).embedding, torch::zeros({1, 2}));
  for (const int64_t points : {2, 3, 4, 7, 31, 89, 91}) {
    const TsneResult result = tsne(test::normals({points, 4}, 15), options);
    EXPECT_EQ(result.embedding.sizes(), torch::IntArrayRef({points, 2}));
    EXPECT_TRUE(result.embedding.isfinite().all().item<bool>()) << points;
    EXPECT_TRUE(std::isfinite(result.divergence)) << points;
    EXPECT_NEAR(result.perplexity, std::clamp((points - 1) / 3.0, 1.0, 30.0), 1e-9);
  }
}

TEST(Tsne, SpreadsIdenticalPoints) {
  TsneOptions options;
  options.iterations = 300;
  for (const int64_t points : {2, 50, 1500}) {
    const TsneResult result = tsne(torch::full({points, 16}, 0.3f), options);
    EXPECT_TRUE(result.embedding.isfinite().all().item<bool>());
    EXPECT_TRUE(std::isfinite(result.divergence));
    EXPECT_GT(result.embedding.std(0).min().item<double>(), 1e-6) << points;
  }
}

TEST(Tsne, KeepsDuplicatesTogether) {
  // 150 points, three copies each: with perplexity 2 the copies are the only neighbours.
  const Tensor once = test::normals({150, 10}, 16);
  TsneOptions options;
  options.perplexity = 2;
  const TsneResult result = tsne(once.repeat({3, 1}), options);
  EXPECT_EQ(purity(result.embedding, 150), 1);
}

TEST(Tsne, EmbedsOneDimensionalFeaturesInThePlane) {
  const Tensor features = torch::linspace(0, 1, 200).view({200, 1});
  const TsneResult result = tsne(features);
  EXPECT_TRUE(result.embedding.isfinite().all().item<bool>());
  EXPECT_GT(result.embedding.std(0).min().item<double>(), 1);
}

TEST(Tsne, RejectsNonFiniteFeatures) {
  for (const float bad : {NAN, INFINITY}) {
    Tensor features = test::normals({2817, 3}, 17);
    features[1411][2] = bad;
    EXPECT_EQ(test::message_of<WorkError>([&] { tsne(features); }),
              "t-SNE: row 1,412 of 2,817 features has non-finite values; train the model again");
  }
}

TEST(Tsne, RejectsAStartOfWrongSizeOrNonFinite) {
  EXPECT_THROW(tsne(torch::zeros({5, 3}), {}, torch::zeros({4, 2})), std::logic_error);
  EXPECT_THROW(tsne(torch::zeros({5, 3}), {}, torch::full({5, 2}, NAN)), std::logic_error);
}

TEST(Tsne, ReportsDivergenceOfLargeLearningRates) {
  for (const double rate : {1e6, 1e30, 1e38}) {
    TsneOptions options;
    options.rate = rate;
    options.iterations = 50;
    try {
      EXPECT_TRUE(std::isfinite(tsne(clusters(1100, 8, 3, 10, 21), options).divergence)) << rate;
    } catch (const WorkError& error) {
      EXPECT_EQ(std::string(error.what()).find("t-SNE diverged"), 0u) << error.what();
    }
  }
}

TEST(Tsne, MatchesTheQualityOfScikitLearn) {
  const auto python = test::python_with("sklearn, torch");
  if (!python) GTEST_SKIP() << "skipped: no python3-sklearn";
  // Ten anisotropic clusters, like those of real features.
  const Tensor centres = torch::eye(10, 30) * 2.1;
  const Tensor features = test::normals({600, 30}, 18) / torch::arange(1, 31, torch::kFloat32) +
                          centres.index_select(0, torch::arange(600) % 10);
  const Tensor start = 1e-4 * test::normals({600, 2}, 19);
  const TsneOptions options;
  const TsneResult result = tsne(features, options, start);
  test::Dump dump;
  dump.add("features", features);
  dump.add("start", start);
  dump.add("embedding", result.embedding);
  test::TempDir folder;
  dump.write(
      folder / "tsne.safetensors",
      {{"perplexity", options.perplexity}, {"iterations", options.iterations}, {"divergence", result.divergence}});
  EXPECT_TRUE(test::run_python(*python, "tests/embedding/tsne_reference.py", {folder / "tsne.safetensors"}))
      << "see its output above";
}

}  // namespace
}  // namespace tributary
