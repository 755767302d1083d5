#include "tributary/methods/registry.h"

#include "tributary/methods/baselines.h"
#include "tributary/model/backbone.h"

namespace tributary {

bool for_photographs(const Ensemble& ensemble) {
  return architecture(ensemble.sources.front().info().architecture).photographs;
}

std::vector<MethodEntry> registered_methods() {
  std::vector<MethodEntry> entries;
  for (const auto make : {bait_method, sfda_method, shot_method, ma_method, source_ensemble_method, decision_method,
                          caida_method, nrc_method, aad_method, cowa_method, selective_method})
    entries.push_back(make());
  return entries;
}

}  // namespace tributary
