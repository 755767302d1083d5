// Projection of features on their principal components.
#pragma once

#include "tributary/base/random.h"
#include "tributary/base/tensor.h"

namespace tributary {

// Projects `features` [n, d], which must have mean zero, on their first principal components, by falling variance.
// Returns double [n, min(components, n, d)] on the features' device. Uses randomised power iteration (Halko, Martinsson
// and Tropp, SIAM Review 2011) in double precision. The largest loading of each component is positive.
Tensor principal_scores(const Tensor& features, int64_t components, const Random& random);

}  // namespace tributary
