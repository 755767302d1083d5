#include "tributary/model/ensemble_pass.h"

#include <algorithm>

#include "tributary/model/layered_source.h"

namespace tributary {

int64_t branch_count(const Ensemble& ensemble) {
  const bool recomputes_all =
      std::any_of(ensemble.sources.begin(), ensemble.sources.end(), [](const SourceModel& source) {
        return source.layered() && source.layered()->memory().recompute == Recompute::kAll;
      });
  return recomputes_all ? 1 : ensemble.size();
}

std::vector<std::vector<Tensor>> divided_backbone_features(Ensemble& ensemble,
                                                           const std::vector<std::vector<BackbonePass>>& passes,
                                                           Branches& branches, bool mixed_precision) {
  std::vector<std::vector<Tensor>> features(passes.size());
  if (!ensemble.by_sources()) return features;
  const auto divided = [&](size_t j) { return ensemble.sources[j].sharding().by == Sharding::By::kSources; };
  for (size_t j = 0; j < passes.size(); ++j) {
    if (!divided(j)) continue;
    features[j].resize(passes[j].size());
    if (ensemble.sources[j].sharding().elsewhere()) continue;
    branches.run(static_cast<int64_t>(j), [&, j] {
      const MixedPrecision precision(mixed_precision, ensemble.sources[j].device());
      for (size_t i = 0; i < passes[j].size(); ++i) {
        const auto& [x, dropout_stream] = passes[j][i];
        features[j][i] = ensemble.sources[j].layered()->backbone_features_alone(x, dropout_stream);
      }
    });
  }
  branches.join();
  const MixedPrecision precision(mixed_precision, ensemble.sources.front().device());
  for (size_t j = 0; j < passes.size(); ++j) {
    if (!divided(j)) continue;
    for (size_t i = 0; i < passes[j].size(); ++i) {
      const auto& [x, dropout_stream] = passes[j][i];
      features[j][i] = ensemble.sources[j].layered()->exchange(features[j][i], x, dropout_stream);
    }
  }
  return features;
}

}  // namespace tributary
