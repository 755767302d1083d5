// Random augmentation of training pictures: crop, mirror, grey, shift, rotation, zoom, colour jitter and cut-out.
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

enum class AugmentationLevel { kAuto, kStandard, kStrong };  // auto: the method's own, else standard

// A negative value stands for the default of the level and of the kind of pictures, see `resolve_defaults`.
struct Augmentation {
  int64_t shift = -1;    // largest shift in pixels, in both directions; the border is repeated
  double flip = -1;      // probability of a mirror image
  double grey = -1;      // probability of a grey picture
  double rotation = -1;  // largest rotation in degrees, in both directions
  double zoom_in = -1;   // the part of the side that is shown, and magnified, is 1 - zoom_in .. 1 + zoom_out
  double zoom_out = -1;
  double jitter = -1;  // brightness, contrast and saturation are each multiplied by 1 - jitter .. 1 + jitter
  double cutout = -1;  // side of the square that is replaced by the mean colour, as a share of the picture's side
  AugmentationLevel level = AugmentationLevel::kAuto;

  // Whether pictures are shifted, rotated or zoomed, which takes an affine map per picture.
  bool moves() const { return shift > 0 || rotation > 0 || zoom_in > 0 || zoom_out > 0; }
  // Whether their colours are changed, or parts of them cut out.
  bool recolours() const { return jitter > 0 || cutout > 0; }
};

// Declares all of them in `section`.
void declare(OptionTable& table, const std::string& section, Augmentation& augmentation);

// Replaces negative values by the defaults for pictures of `model`. Pictures of up to 64 pixels a side count as digits,
// whose classes a mirror image may change, whatever the network; larger ones count as photographs unless the network is
// for digits. At the standard level photographs are mirrored with probability 0.5 and, if `adapting`, grey with
// probability 0.1; digits are left as they are. The strong level is for photographs: mirrored 0.5, grey 0.2, rotation
// 10, zoom_in 0.4, jitter 0.4, cutout 0.25; for digits: shift 2, rotation 15, zoom_in and zoom_out 0.2, jitter 0.3.
Augmentation resolve_defaults(const Augmentation& augmentation, const ModelInfo& model, bool adapting);

// The size of stored pictures, and the side of the square that a network sees.
struct PictureSize {
  int64_t height = 0, width = 0, crop = 0;
};

// What was drawn for the pictures of a batch.
struct AugmentationDraws {
  Tensor crops;  // int64 [n, 4]: first row, first column, whether it is mirrored, whether it is grey
  Tensor maps;   // float [n, 2, 3]: affine maps of output to input coordinates in [-1, 1]; undefined: nothing moves
  // float [n, 5]: factors of brightness, contrast and saturation, then row and column of the cut-out's centre in 0..1;
  // undefined: colours stay
  Tensor colours;

  // The same draws on the device.
  AugmentationDraws on(torch::Device device) const;
  // One draw, repeated for `count` pictures.
  AugmentationDraws repeated(int64_t count) const;
};

// Draws on the host. Crops and mirror images come from child 2 of `random`, grey pictures from child 1, shifts and
// rotations from child 0, zooms from child 3, jitter from child 4, cut-outs from child 5.
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
