// One function a method that ours is compared with; each is in the file of its name.
#pragma once

#include "tributary/methods/registry.h"

namespace tributary {

MethodEntry source_ensemble_method();
MethodEntry shot_method();
MethodEntry bait_method();
MethodEntry sfda_method();
MethodEntry ma_method();
MethodEntry decision_method();
MethodEntry caida_method();
MethodEntry nrc_method();

}  // namespace tributary
