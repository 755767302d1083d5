#include "tributary/embedding/tsne.h"

#include <algorithm>

#include "tributary/base/error.h"
#include "tributary/base/random.h"
#include "tributary/base/text.h"
#include "tributary/embedding/nearest_neighbours.h"
#include "tributary/embedding/principal_components.h"
#include "tributary/tsne/descent.h"

namespace tributary {
namespace {

enum Stream : uint64_t { kBasis = 1, kJitter = 2 };

constexpr double kInitialSpread = 1e-4;  // standard deviation of the initial points
constexpr double kJitterScale = 1e-2;    // standard deviation of the noise, relative to that
constexpr double kFlat = 1e-6;  // features with a smaller spread, relative to their largest value, are constant

void require_finite(const Tensor& features) {
  const Tensor finite = features.isfinite().all(1);
  if (finite.all().item<bool>()) return;
  const auto row = finite.to(torch::kInt64).argmin().item<int64_t>();
  work_error("t-SNE: row {} of {} features has non-finite values; train the model again", thousands(row + 1),
             thousands(features.size(0)));
}

// Shifts features to mean zero and scales them to largest value one, float. This does not change the embedding and
// avoids overflow and cancellation. Runs on the host, so that all devices get the same values.
Tensor normalised(const Tensor& features) {
  const auto scaled = [](const Tensor& values) {
    const auto largest = values.abs().max().item<double>();
    return largest > 0 ? values / largest : values;
  };
  const Tensor wide = scaled(features.to(at::promote_types(features.scalar_type(), torch::kFloat32)));
  return scaled(wide - wide.mean(0, /*keepdim=*/true)).to(torch::kFloat32).contiguous();
}

double deviation(const Tensor& values) {
  return values.std(/*unbiased=*/false).item<double>();
}

// Initial points, double [n, 2] on the host.
Tensor initial_points(const Tensor& features, const TsneOptions& options, const Tensor& start) {
  const int64_t points = features.size(0);
  Tensor places = torch::zeros({points, 2}, torch::kFloat64);
  if (start.defined()) {
    places = start.to(torch::kCPU, torch::kFloat64);
    places = places - places.mean(0, /*keepdim=*/true);
  } else {
    const Random random(options.seed, Purpose::kInitialise, {kBasis});
    const Tensor scores = principal_scores(features, 2, random).to(torch::kCPU);
    const double spread = deviation(scores.select(1, 0));
    if (spread > kFlat) places.narrow(1, 0, scores.size(1)).copy_(scores * (kInitialSpread / spread));
  }
  const double spread = deviation(places);
  Random random(options.seed, Purpose::kInitialise, {kJitter});
  Tensor jitter = torch::empty_like(places);
  for (int64_t i = 0; i < jitter.numel(); ++i) jitter.data_ptr<double>()[i] = random.bell();
  return places + jitter * (spread > 0 ? kJitterScale * spread : kInitialSpread);
}

}  // namespace

TsneResult tsne(const Tensor& features, const TsneOptions& options, const Tensor& start) {
  TRIBUTARY_CHECK(features.dim() == 2 && features.size(1) > 0, "features have {} dimensions instead of 2",
                  features.dim());
  const int64_t points = features.size(0);
  TRIBUTARY_CHECK(!start.defined() || start.sizes() == torch::IntArrayRef({points, 2}),
                  "{} points but {} initial points", points, start.size(0));
  TRIBUTARY_CHECK(!start.defined() || start.isfinite().all().item<bool>(), "initial points are non-finite");
  TRIBUTARY_CHECK(options.perplexity >= 1 && options.exaggeration > 0 && options.angle >= 0,
                  "invalid options: perplexity {}, exaggeration {}, angle {}", options.perplexity, options.exaggeration,
                  options.angle);
  torch::NoGradGuard no_grad;
  const auto others = static_cast<double>(points - 1);
  TsneResult result{torch::zeros({points, 2}), 0, std::clamp(others / 3, 1.0, options.perplexity)};
  require_finite(features);
  if (points < 2) return result;

  Tensor values = normalised(features.to(torch::kCPU)).to(features.device());
  if (options.components > 0 && options.components < values.size(1)) {
    const Random random(options.seed, Purpose::kInitialise, {kBasis});
    values = principal_scores(values, options.components, random).to(torch::kFloat32).contiguous();
  }
  const Tensor begin = initial_points(values, options, start).to(torch::kFloat32).t().contiguous();
  const auto count = std::min(points - 1, static_cast<int64_t>(3 * result.perplexity + 1));
  const NearRows near = nearest_rows_of(values, count, options.threads);
  const Affinities affinities = affinities_of(near, result.perplexity, options.threads);
  const float* at = begin.data_ptr<float>();
  Places places{{at, at + points}, {at + points, at + 2 * points}};
  result.divergence = descend(affinities, places, options);
  const auto column = [&](std::vector<float>& values) { return torch::from_blob(values.data(), {points}); };
  result.embedding = at::stack({column(places.x), column(places.y)}, 1);
  if (!result.embedding.isfinite().all().item<bool>())
    work_error("t-SNE diverged; use a learning rate below {}", learning_rate(options, points));
  return result;
}

}  // namespace tributary
