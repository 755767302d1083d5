// Principal components: the directions in which features differ most.
#pragma once

#include "tributary/base/random.h"
#include "tributary/base/tensor.h"

namespace tributary {

// Double [n, min(components, n, d)]: `features` [n, d], of mean zero, along their first principal components, by
// falling variance. A few steps of power iteration on a random subspace (Halko, Martinsson and Tropp, SIAM Review
// 2011), on the features' device and in double precision; a component points where its largest loading is positive.
Tensor principal_scores(const Tensor& features, int64_t components, const Random& random);

}  // namespace tributary
