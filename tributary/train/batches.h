// Pictures on the compute device: normalised and augmented there, whole batches at a time.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tributary/base/options.h"
#include "tributary/base/random.h"
#include "tributary/base/read_ahead.h"
#include "tributary/base/tensor.h"
#include "tributary/comm/communicator.h"
#include "tributary/data/image_set.h"
#include "tributary/model/source_model.h"

namespace tributary {

// Random changes of training pictures. Negative probabilities stand for what suits the pictures, see
// `resolve_defaults`.
struct Augmentation {
  int64_t shift = 0;    // pad by this many black pixels and crop back at a random place
  double flip = -1;     // probability of a mirror image
  double grey = -1;     // probability of a grey picture
  double rotation = 0;  // largest rotation in degrees
};

// Declares the four of them in `section`.
void declare(OptionTable& table, const std::string& section, Augmentation& augmentation);

// With every probability decided: half of all photographs are mirrored, and selective self-training (`adapting`) also
// greys one in ten (docs/method.md, Source training); digits stay as they are.
Augmentation resolve_defaults(const Augmentation& augmentation, const Architecture& network, bool adapting);

// Where each picture of a batch is cut out and how it is changed, int64 [n, 4]: first row, first column, whether it is
// mirrored, whether it is grey.
using CropParameters = Tensor;

// A set of pictures, ready for the device. Where it fits it lies there as one uint8 tensor, whose rows are stored as
// height, width, channel, which is the channels-last layout that convolutions like best. A set that is too large for a
// GPU stays in the host's memory, one that is too large for that in its files: then every batch is brought on its own.
class DeviceImages {
 public:
  // `images` must outlive it.
  DeviceImages(const ImageSet& images, torch::Device device);
  DeviceImages(ImageSet&& images, torch::Device device);

  int64_t size() const { return images_->size(); }
  torch::Device device() const { return device_; }
  // Pixels a side that a network sees.
  int64_t crop() const { return crop_; }
  // Bytes that features of the set may take in memory, as it was when the set was put in place: what is free later is
  // not the same from round to round, and features should be.
  int64_t feature_bytes() const { return feature_bytes_; }
  // Whether the whole set lies on the device.
  bool resident() const { return pixels_.defined(); }

  // The pictures at `index` (int64, on the host) as they are, on the host, uint8 [n, h, w, 3]: what `bring` takes. May
  // be called from any thread.
  Tensor fetch(const Tensor& index) const;
  // The same with those at the places `needed` only, and nothing in the others' places; undefined: all.
  Tensor fetch(const Tensor& index, const Tensor& needed) const;
  // Brought to the device, without waiting.
  Tensor bring(const Tensor& fetched) const;

  // The middle of the pictures at `index` (int64, on any device) or of pictures that were brought, as float
  // [n, 3, crop, crop] in 0..1.
  Tensor gather(const Tensor& index) const;
  Tensor centre_crop(const Tensor& pixels) const;
  // Of a set that lies on the device, in rows [begin, end).
  Tensor rows(int64_t begin, int64_t end) const;
  // The same pictures for training: cut out at random places and changed by draws of their own.
  Tensor augmented(const Tensor& index, const Augmentation& augmentation, Random random) const;
  // The two halves of `augmented` where it neither shifts nor rotates: the draws, on the host, and what is done with
  // them, wherever `index` and `crops` lie. The pictures are the set's own, or those that were brought.
  CropParameters draw_crops(int64_t count, const Augmentation& augmentation, const Random& random) const;
  Tensor apply_crops(const Tensor& index, const CropParameters& crops, const Augmentation& augmentation) const;
  Tensor apply_crops_to(const Tensor& pixels, const CropParameters& crops, const Augmentation& augmentation) const;

 private:
  DeviceImages(std::shared_ptr<const ImageSet> images, torch::Device device);
  Tensor crop_from(const Tensor& pixels, const Tensor& index, const CropParameters& crops,
                   const Augmentation& augmentation) const;
  // Whether every picture is shown whole and as it is, but for its colour.
  bool whole(const Augmentation& augmentation) const;

  std::shared_ptr<const ImageSet> images_;  // somebody else's, or its own
  torch::Device device_;
  int64_t crop_;
  Tensor pixels_;  // undefined where they are brought
  int64_t feature_bytes_ = 0;
};

// The middle of every picture of a set in order, batch by batch, as `gather` gives it. Where batches are brought, the
// next one is read while one is worked with.
class SequentialBatches {
 public:
  SequentialBatches(const DeviceImages& images, int64_t batch);
  // These rows, one batch each.
  SequentialBatches(const DeviceImages& images, std::vector<Shard> batches);
  SequentialBatches(const SequentialBatches&) = delete;
  SequentialBatches& operator=(const SequentialBatches&) = delete;

  bool done() const { return next_ >= batches_.size(); }
  Tensor next();
  // Seconds spent waiting for batches to be read; none where the set lies on the device.
  double waited() const { return fetched_.waited(); }

 private:
  const DeviceImages& images_;
  std::vector<Shard> batches_;
  size_t next_ = 0, next_fetched_ = 0;
  ReadAhead<Tensor> fetched_;
};

// (x - mean) / deviation, a channel each.
Tensor normalise(const Tensor& pixels, const Normalisation& normalisation);

// The batch as every source wants it. Sources of equal normalisation share one tensor.
std::vector<Tensor> views(const Tensor& pixels, std::span<const SourceModel> sources);

// The places in a batch of so many rows whose pictures this process needs for passes through the sources; undefined:
// all. By rows they are its own, and those that `permutation` mixes with them where it is given.
Tensor needed_rows(std::span<const SourceModel> sources, int64_t rows, const Tensor& permutation = {});

// Batches in one sweep, those too small for BatchNorm not counted.
inline int64_t batches_per_epoch(int64_t count, int64_t batch) {
  return count / batch + (count % batch >= 2 ? 1 : 0);
}

// Indices in shuffled order, batch by batch, sweep after sweep. A sweep ends with a partial batch; a batch of fewer
// than two samples is left out, because BatchNorm cannot be trained on it (docs/method.md, D1).
class Sampler {
 public:
  // `index` int64 [n] with n >= 2. Sweep s is shuffled by child s of `random`. What remains of a sweep is
  // left out if it has fewer than `least` samples: BatchNorm knows next to nothing of so few.
  Sampler(const Tensor& index, int64_t batch, Random random, int64_t least = 2);

  // The next batch's positions in `index`.
  Tensor next();
  // Whether the current sweep is used up.
  bool exhausted() const { return begin_ >= count_; }
  void restart();

 private:
  int64_t count_, batch_, least_;
  Random random_;
  uint64_t sweep_ = 0;
  int64_t begin_ = 0;
  Tensor order_;
};

}  // namespace tributary
