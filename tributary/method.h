// For methods of your own: describe one as a MethodEntry and pass it to register_method() before adapt().
//
// examples/cpp/own_method.cpp is a whole method; docs/add-a-method.md explains the parts.
#pragma once

#include "tributary/adapt/information.h"
#include "tributary/device/accelerator.h"
#include "tributary/methods/learner.h"
#include "tributary/methods/method.h"
#include "tributary/methods/registry.h"
#include "tributary/train/sgd.h"
