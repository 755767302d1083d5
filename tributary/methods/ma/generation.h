// The losses of the generator, the discriminator and the predictor (Li et al., CVPR 2020; docs/baselines.md, MA).
//
// Labelled source samples are not available, so a generator makes labelled samples in the style of the target: the
// discriminator judges their style, the predictor their class. A penalty keeps the predictor near the source's weights.
#pragma once

#include <vector>

#include "tributary/base/tensor.h"

namespace tributary {

// Classes drawn uniformly from 0..classes-1 by applying the normal CDF to standard normal numbers [n]: int64 [n].
Tensor classes_from_normals(const Tensor& normals, int64_t classes);

// -E ln sigma(a_t) - E ln(1 - sigma(a_g)) for the discriminator's logits of real and of generated samples: [].
Tensor discriminator_loss(const Tensor& real, const Tensor& generated);

// -E ln sigma(a_g) for the discriminator's logits of generated samples; if `saturating`, E ln(1 - sigma(a_g)), whose
// gradient vanishes where the discriminator is certain: [].
Tensor generator_loss(const Tensor& generated, bool saturating);

// 0 while fewer than `warm_up` steps are done, then linear up to 1 over `length` steps: clamp((done + 1 - warm_up) /
// length, 0, 1). `done`, float [], counts the steps before this one; a length of 0 jumps.
Tensor ramp_weight(const Tensor& done, int64_t warm_up, int64_t length);

// |theta - origin|^2, summed over all tensors: [].
Tensor squared_distance(const std::vector<Tensor>& parameters, const std::vector<Tensor>& origin);

}  // namespace tributary
