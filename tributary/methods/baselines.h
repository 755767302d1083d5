// The entries of the methods in the registry; each function is in the folder of its method.
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
MethodEntry aad_method();
MethodEntry cowa_method();
MethodEntry selective_method();

}  // namespace tributary
