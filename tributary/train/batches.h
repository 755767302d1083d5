// Pictures on the compute device: decoded once, normalised and augmented there, whole batches at a time.
#pragma once

#include <string>
#include <vector>

#include "tributary/base/options.h"
#include "tributary/base/random.h"
#include "tributary/base/tensor.h"
#include "tributary/data/image_set.h"
#include "tributary/model/source_model.h"

namespace tributary {

// Random changes of training pictures. Negative probabilities stand for what suits the pictures, see `settled`.
struct Augmentation {
  int64_t shift = 0;    // pad by this many black pixels and crop back at a random place
  double flip = -1;     // probability of a mirror image
  double grey = -1;     // probability of a grey picture
  double rotation = 0;  // largest rotation in degrees
};

// Declares the four of them in `section`.
void declare(OptionTable& table, const std::string& section, Augmentation& augmentation);

// With every probability decided: half of all photographs are mirrored, and where a model is adapted one in ten is grey
// (spec 00); digits stay as they are.
Augmentation settled(const Augmentation& augmentation, const Architecture& network, bool adapting);

// Where each picture of a batch is cut out and how it is changed, int64 [n, 4]: first row, first column, whether it is
// mirrored, whether it is grey.
using Cut = Tensor;

// A set of pictures as one uint8 tensor on the device. Its rows are stored as height, width, channel, which is the
// channels-last layout that convolutions like best.
class DeviceImages {
 public:
  DeviceImages(const ImageSet& images, torch::Device device);

  int64_t size() const { return pixels_.size(0); }
  torch::Device device() const { return pixels_.device(); }
  // Pixels a side that a network sees.
  int64_t crop() const { return crop_; }
  // The middle of the pictures at `index` (int64, on any device) or in rows [begin, end), as float [n, 3, crop, crop]
  // in 0..1.
  Tensor gather(const Tensor& index) const;
  Tensor rows(int64_t begin, int64_t end) const;
  // The same pictures for training: cut out at random places and changed by draws of their own.
  Tensor augmented(const Tensor& index, const Augmentation& augmentation, Random random) const;
  // The two halves of `augmented` where it neither shifts nor rotates: the draws, on the host, and what is done with
  // them, wherever `index` and `cut` lie.
  Cut draw_cut(int64_t count, const Augmentation& augmentation, const Random& random) const;
  Tensor apply_cut(const Tensor& index, const Cut& cut, const Augmentation& augmentation) const;

 private:
  Tensor middle(const Tensor& pixels) const;
  // Whether every picture is shown whole and as it is, but for its colour.
  bool whole(const Augmentation& augmentation) const;

  Tensor pixels_;
  int64_t crop_;
};

// (x - mean) / deviation, a channel each.
Tensor normalise(const Tensor& pixels, const Normalisation& normalisation);

// The batch as every source wants it. Sources of equal normalisation share one tensor.
std::vector<Tensor> views(const Tensor& pixels, const std::vector<SourceModel>& sources);

// Batches in one sweep, those too small for BatchNorm not counted.
inline int64_t batches_a_sweep(int64_t count, int64_t batch) {
  return count / batch + (count % batch >= 2 ? 1 : 0);
}

// Indices in shuffled order, batch by batch, sweep after sweep. A sweep ends with a partial batch; a batch of fewer
// than two samples is left out, because BatchNorm cannot be trained on it (spec 00, D1).
class Sampler {
 public:
  // `index` int64 [n] with n >= 2. Sweep s is shuffled by child s of `random`.
  Sampler(const Tensor& index, int64_t batch, Random random);

  // The next batch's positions in `index`.
  Tensor next();
  // Whether the current sweep is used up.
  bool exhausted() const { return begin_ >= count_; }
  void restart();

 private:
  int64_t count_, batch_;
  Random random_;
  uint64_t sweep_ = 0;
  int64_t begin_ = 0;
  Tensor order_;
};

}  // namespace tributary
