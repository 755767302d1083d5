// Compiled with -ffast-math, so that loops are vectorised.
#include "tributary/tsne/descent.h"

#include <algorithm>
#include <cmath>

#include "tributary/base/clones.h"
#include "tributary/base/interrupt.h"
#include "tributary/base/threads.h"
#include "tributary/tsne/repulsion.h"

namespace tributary {
namespace {

constexpr int64_t kRowsPerPart = 128;  // of attraction

struct Pull {
  float x, y;
};

// The sum of p_ij w_ij (y_i - y_j) over one point's neighbours.
TRIBUTARY_CLONES Pull pull_on(float x, float y, const float* all_x, const float* all_y, const int32_t* neighbour,
                              const float* p, int64_t neighbours) {
  Pull sum{};
  for (int64_t e = 0; e < neighbours; ++e) {
    const float dx = x - all_x[neighbour[e]], dy = y - all_y[neighbour[e]];
    const float force = p[e] / (1 + dx * dx + dy * dy);
    sum.x += force * dx;
    sum.y += force * dy;
  }
  return sum;
}

// Threads are started in every iteration, so each needs about a millisecond of work.
int useful_threads(int64_t points, int threads) {
  constexpr int64_t kPoints = 512;
  return static_cast<int>(std::clamp<int64_t>(points / kPoints, 1, threads > 0 ? threads : hardware_threads()));
}

// Attraction and repulsion. Each part of the work writes its own values, so the result does not depend on threads.
class Forces {
 public:
  Forces(const Affinities& affinities, const TsneOptions& options)
      : affinities_(affinities),
        repulsion_(affinities.points(), options.angle),
        threads_(useful_threads(affinities.points(), options.threads)),
        pull_x_(static_cast<size_t>(affinities.points())),
        pull_y_(pull_x_.size()) {}

  void compute(const Places& places) {
    check_interrupt();
    repulsion_.place(places.x.data(), places.y.data());
    const int64_t repelling = repulsion_.parts(), attracting = (affinities_.points() + kRowsPerPart - 1) / kRowsPerPart;
    parallel_for(repelling + attracting, threads_, [&](int64_t part) {
      if (part < repelling)
        repulsion_.compute(part);
      else
        attract(places, part - repelling);
    });
  }

  const std::vector<float>& pull_x() const { return pull_x_; }
  const std::vector<float>& pull_y() const { return pull_y_; }
  const Repulsion& repulsion() const { return repulsion_; }

 private:
  void attract(const Places& places, int64_t part) {
    const int64_t first = part * kRowsPerPart;
    for (int64_t i = first; i < std::min(first + kRowsPerPart, affinities_.points()); ++i) {
      const int64_t begin = affinities_.begin[i], end = affinities_.begin[i + 1];
      const Pull sum = pull_on(places.x[i], places.y[i], places.x.data(), places.y.data(),
                               affinities_.index.data() + begin, affinities_.p.data() + begin, end - begin);
      pull_x_[i] = sum.x, pull_y_[i] = sum.y;
    }
  }

  const Affinities& affinities_;
  Repulsion repulsion_;
  const int threads_;
  std::vector<float> pull_x_, pull_y_;
};

// Optimiser state of one coordinate of all points.
class Coordinate {
 public:
  explicit Coordinate(size_t points) : update_(points), gain_(points) { reset(); }

  void reset() {
    std::fill(update_.begin(), update_.end(), 0.f);
    std::fill(gain_.begin(), gain_.end(), 1.f);
  }

  struct Step {
    float exaggeration, inverse_total, momentum, rate;
  };

  void move(std::vector<float>& position, const std::vector<float>& pull, const std::vector<float>& push,
            const Step& step) {
    constexpr float kFaster = 0.2f, kSlower = 0.8f, kMinGain = 0.01f;
    for (size_t i = 0; i < position.size(); ++i) {
      const float slope = 4 * (step.exaggeration * pull[i] - step.inverse_total * push[i]);
      const float gain = update_[i] * slope < 0 ? gain_[i] + kFaster : gain_[i] * kSlower;
      gain_[i] = std::max(gain, kMinGain);
      update_[i] = step.momentum * update_[i] - step.rate * gain_[i] * slope;
      position[i] += update_[i];
    }
  }

 private:
  std::vector<float> update_, gain_;
};

// sum_ij p_ij ln(p_ij / q_ij).
double divergence(const Affinities& affinities, const Places& places, double total) {
  double sum = 0;
  for (int64_t i = 0; i < affinities.points(); ++i) {
    for (int64_t e = affinities.begin[i]; e < affinities.begin[i + 1]; ++e) {
      const double dx = places.x[i] - places.x[affinities.index[e]], dy = places.y[i] - places.y[affinities.index[e]];
      sum += affinities.p[e] * std::log(affinities.p[e] * total * (1 + dx * dx + dy * dy));
    }
  }
  return sum;
}

}  // namespace

double learning_rate(const TsneOptions& options, int64_t points) {
  constexpr double kMinRate = 50;
  return options.rate > 0 ? options.rate : std::max(static_cast<double>(points) / options.exaggeration / 4, kMinRate);
}

double descend(const Affinities& affinities, Places& places, const TsneOptions& options) {
  constexpr double kEarlyMomentum = 0.5, kMomentum = 0.8;
  const double rate = learning_rate(options, affinities.points());
  Forces forces(affinities, options);
  Coordinate x(places.x.size()), y(places.y.size());
  for (int64_t iteration = 0; iteration < options.iterations; ++iteration) {
    const bool early = iteration < options.early;
    if (iteration == options.early) x.reset(), y.reset();
    forces.compute(places);
    const Coordinate::Step step{static_cast<float>(early ? options.exaggeration : 1),
                                static_cast<float>(1 / forces.repulsion().total()),
                                static_cast<float>(early ? kEarlyMomentum : kMomentum), static_cast<float>(rate)};
    x.move(places.x, forces.pull_x(), forces.repulsion().x(), step);
    y.move(places.y, forces.pull_y(), forces.repulsion().y(), step);
  }
  forces.compute(places);
  return divergence(affinities, places, forces.repulsion().total());
}

}  // namespace tributary
