// A set of pictures on the compute device, whole batches at a time: normalised, cropped and augmented there.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "tributary/data/image_set.h"
#include "tributary/model/source_model.h"
#include "tributary/train/augmentation.h"

namespace tributary {

// A set that fits is one uint8 tensor on the device, stored as height, width, channel, the channels-last layout that
// convolutions prefer. A set that is too large for a GPU stays in host memory, one that is too large for that in its
// files. Then every batch is fetched to the host and brought to the device.
class DeviceImages {
 public:
  // `images` must outlive it.
  DeviceImages(const ImageSet& images, torch::Device device);
  DeviceImages(ImageSet&& images, torch::Device device);

  int64_t size() const { return images_->size(); }
  torch::Device device() const { return device_; }
  // Pixels per side that a network sees.
  int64_t crop() const { return size_.crop; }
  const PictureSize& picture_size() const { return size_; }
  // Bytes that features of the set may take in memory. Fixed at construction: free memory differs from round to round,
  // and the storage of features should not.
  int64_t feature_bytes() const { return feature_bytes_; }
  // Whether the whole set lies on the device.
  bool resident() const { return pixels_.defined(); }

  // The pictures at `index` (int64, on the host), unchanged, on the host: uint8 [n, h, w, 3]. Thread-safe.
  Tensor fetch(const Tensor& index) const;
  // The same, but reads only the pictures at the positions `needed` and leaves the others black; undefined: all.
  Tensor fetch(const Tensor& index, const Tensor& needed) const;
  // Copies fetched pictures to the device without waiting.
  Tensor bring(const Tensor& fetched) const;

  // The centre crops of the pictures at `index` (int64, on any device) or of fetched pictures on the device: float
  // [n, 3, crop, crop] in 0..1.
  Tensor gather(const Tensor& index) const;
  Tensor centre_crop(const Tensor& pixels) const;
  // Centre crops of rows [begin, end) of a resident set.
  Tensor rows(int64_t begin, int64_t end) const;

  // Draws the augmentation of `count` pictures, on the host.
  AugmentationDraws draw(int64_t count, const Augmentation& augmentation, const Random& random) const;
  // Augmented pictures with draws on the device: rows `index` of a resident set, or pictures that were brought.
  Tensor augmented(const Tensor& index, const AugmentationDraws& draws, const Augmentation& augmentation) const;
  Tensor augmented_from(const Tensor& pixels, const AugmentationDraws& draws, const Augmentation& augmentation) const;
  // All of this at once, wherever the pictures lie. `index` may be on any device.
  Tensor augmented(const Tensor& index, const Augmentation& augmentation, const Random& random) const;

 private:
  DeviceImages(std::shared_ptr<const ImageSet> images, torch::Device device);

  std::shared_ptr<const ImageSet> images_;  // owned only if it was moved in
  torch::Device device_;
  PictureSize size_;
  Tensor pixels_;  // undefined unless resident
  int64_t feature_bytes_ = 0;
};

// (x - mean) / deviation, per channel.
Tensor normalise(const Tensor& pixels, const Normalisation& normalisation);

// The batch normalised for every source. Sources of equal normalisation share one tensor.
std::vector<Tensor> views(const Tensor& pixels, std::span<const SourceModel> sources);

// The positions in a batch of `rows` pictures that this process needs for passes through the sources; undefined: all.
// Where ranks divide batches by rows these are its own rows, and the rows that `permutation` mixes with them.
Tensor needed_rows(std::span<const SourceModel> sources, int64_t rows, const Tensor& permutation = {});

}  // namespace tributary
