#include "tributary/methods/registry.h"

#include <mutex>
#include <utility>

#include "tributary/base/error.h"
#include "tributary/base/text.h"
#include "tributary/methods/baselines.h"
#include "tributary/model/backbone.h"

namespace tributary {

bool for_photographs(const Ensemble& ensemble) {
  return architecture(ensemble.sources.front().info().architecture).photographs;
}

namespace {

// Methods that other programs have added.
struct AddedMethods {
  std::mutex mutex;
  std::vector<std::function<MethodEntry()>> makers;
};

AddedMethods& added_methods() {
  static AddedMethods added;
  return added;
}

}  // namespace

std::vector<MethodEntry> registered_methods() {
  std::vector<MethodEntry> entries;
  for (const auto make : {bait_method, sfda_method, shot_method, ma_method, source_ensemble_method, decision_method,
                          caida_method, nrc_method, aad_method, cowa_method, selective_method})
    entries.push_back(make());
  AddedMethods& added = added_methods();
  const std::lock_guard lock(added.mutex);
  for (const auto& make : added.makers) entries.push_back(make());
  return entries;
}

void register_method(std::function<MethodEntry()> make) {
  const std::string name = make().name;
  if (name.empty()) input_error("a method needs a name; set it in its MethodEntry");
  for (const MethodEntry& entry : registered_methods())
    if (entry.name == name) input_error("there is a method called {} already; choose another name", printable(name));
  AddedMethods& added = added_methods();
  const std::lock_guard lock(added.mutex);
  added.makers.push_back(std::move(make));
}

}  // namespace tributary
