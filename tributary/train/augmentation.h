// Random augmentation of training pictures: crop, mirror, grey, shift and rotation.
//
// Everything random is drawn on the host, per picture, before a step (train/step_plan.h). Applying it takes tensors on
// the device alone, so that augmentation is the same in eager steps and in CUDA graphs.
#pragma once

#include <string>

#include "tributary/base/options.h"
#include "tributary/base/random.h"
#include "tributary/base/tensor.h"
#include "tributary/model/backbone.h"

namespace tributary {

// Negative probabilities stand for the default of the kind of pictures, see `resolve_defaults`.
struct Augmentation {
  int64_t shift = 0;    // largest shift in pixels, in both directions; black moves in at the border
  double flip = -1;     // probability of a mirror image
  double grey = -1;     // probability of a grey picture
  double rotation = 0;  // largest rotation in degrees, in both directions

  // Whether pictures are shifted or rotated, which takes an affine map per picture.
  bool moves() const { return shift > 0 || rotation > 0; }
};

// Declares the four of them in `section`.
void declare(OptionTable& table, const std::string& section, Augmentation& augmentation);

// Replaces negative probabilities: photographs are mirrored with probability 0.5 and, if `adapting`, grey with
// probability 0.1; digits are neither.
Augmentation resolve_defaults(const Augmentation& augmentation, const Architecture& network, bool adapting);

// The size of stored pictures, and the side of the square that a network sees.
struct PictureSize {
  int64_t height = 0, width = 0, crop = 0;
};

// What was drawn for the pictures of a batch.
struct AugmentationDraws {
  Tensor crops;  // int64 [n, 4]: first row, first column, whether it is mirrored, whether it is grey
  Tensor maps;   // float [n, 2, 3]: affine maps of output to input coordinates in [-1, 1]; undefined: nothing moves
};

// Draws on the host. Crops and mirror images come from child 2 of `random`, grey pictures from child 1, affine maps
// from child 0.
AugmentationDraws draw_augmentation(int64_t count, const PictureSize& size, const Augmentation& augmentation,
                                    const Random& random);

// Rows `index` (int64 [n]) of `pixels` (uint8 [N, h, w, 3]), augmented: float [n, 3, crop, crop] in 0..1, channels
// last. All tensors are on one device.
Tensor augment(const Tensor& pixels, const Tensor& index, const AugmentationDraws& draws, const PictureSize& size,
               const Augmentation& augmentation);

// Pictures uint8 [n, h, w, 3] as float [n, 3, h, w] in 0..1.
Tensor as_floats(const Tensor& pixels);

// One value per channel, float [1, 3, 1, 1], filled in on the device of `like`: nothing is copied there, so that it can
// be part of a CUDA graph.
Tensor channel_constants(const std::array<double, 3>& values, const Tensor& like);

}  // namespace tributary
