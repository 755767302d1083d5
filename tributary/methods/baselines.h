// One function per method that selective self-training is compared with, each in the folder of its name.
#pragma once

#include "tributary/methods/registry.h"

namespace tributary {

MethodEntry source_ensemble_method();  // spec 01
MethodEntry shot_method();             // spec 02
MethodEntry bait_method();             // spec 03
MethodEntry sfda_method();             // spec 04
MethodEntry ma_method();               // spec 05
MethodEntry decision_method();         // spec 06
MethodEntry caida_method();            // spec 07
MethodEntry nrc_method();              // spec 08

}  // namespace tributary
