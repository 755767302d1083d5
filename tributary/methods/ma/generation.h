// The losses between a generator of labelled target samples, its discriminator and the predictor that learns from them
// (Li et al., CVPR 2020; docs/method.md, MA).
//
// Source samples with labels are gone, so labelled samples in the style of the target are made: the discriminator sees
// to their style, the predictor to their class. What the predictor learns from them is held near the source's weights.
#pragma once

#include <vector>

#include "tributary/base/tensor.h"

namespace tributary {

// Classes drawn evenly from 0..classes-1 by standard normal numbers [n], through their distribution function: int64
// [n].
Tensor classes_from_normals(const Tensor& normals, int64_t classes);

// -E ln sigma(a_t) - E ln(1 - sigma(a_g)) for the discriminator's logits of real and of generated samples: [].
Tensor discriminator_loss(const Tensor& real, const Tensor& generated);

// -E ln sigma(a_g) for the discriminator's logits of generated samples, or E ln(1 - sigma(a_g)), whose gradient fades
// where the discriminator is sure (`saturating`): [].
Tensor generator_loss(const Tensor& generated, bool saturating);

// 0 while fewer than `warm_up` steps are done, then linear up to 1 over `length` steps: clamp((done + 1 - warm_up) /
// length, 0, 1). `done`, float [], counts the steps before this one; a length of 0 jumps.
Tensor ramp_weight(const Tensor& done, int64_t warm_up, int64_t length);

// |theta - origin|^2, the sum over all numbers of all tensors: [].
Tensor squared_distance(const std::vector<Tensor>& parameters, const std::vector<Tensor>& origin);

}  // namespace tributary
