// The class prior of the target set, against which diversity is measured.
//
// Information maximisation spreads predictions evenly over the classes, which wrecks a target set with skewed classes.
// The prior is therefore estimated from the pseudo-labels, as far as these can be trusted: unadapted sources that agree
// with each other beyond chance are believed, others are not. What is not believed stays uniform, so that a collapse of
// the labels does not feed itself.
#pragma once

#include "tributary/comm/row_block.h"

namespace tributary {

// trust * (share of each class in `label`) + (1 - trust) / K, float [K] on the device of `label` (int64 [n]).
// Ranks may keep the labels of their own rows.
Tensor estimated_prior(const Tensor& label, int64_t classes, double trust, const RowBlock& rows = {});

}  // namespace tributary
