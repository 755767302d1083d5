#include "tributary/methods/registry.h"

#include "tributary/methods/baselines.h"
#include "tributary/model/backbone.h"

namespace tributary {

TrainingSchedule BaselineOptions::schedule(const Ensemble& ensemble, int64_t own_batch, int64_t own_epochs) const {
  TrainingSchedule schedule;
  schedule.seed = seed;
  schedule.batch = batch > 0 ? batch : own_batch;
  schedule.rounds = epochs > 0 ? epochs : own_epochs;
  schedule.augmentation =
      resolve_defaults(augmentation, architecture(ensemble.sources.front().info().architecture), /*adapting=*/false);
  schedule.precision = precision;
  schedule.cuda_graph = cuda_graph;
  return schedule;
}

bool for_photographs(const Ensemble& ensemble) {
  return architecture(ensemble.sources.front().info().architecture).photographs;
}

std::vector<MethodEntry> compared_methods() {
  std::vector<MethodEntry> entries;
  for (const auto make : {bait_method, sfda_method, shot_method, ma_method, source_ensemble_method, decision_method,
                          caida_method, nrc_method})
    entries.push_back(make());
  return entries;
}

}  // namespace tributary
