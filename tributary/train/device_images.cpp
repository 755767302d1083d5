#include "tributary/train/device_images.h"

#include "tributary/data/crop.h"
#include "tributary/device/device.h"
#include "tributary/train/feature_storage.h"

namespace tributary {

DeviceImages::DeviceImages(const ImageSet& images, torch::Device device)
    : DeviceImages(std::shared_ptr<const ImageSet>(std::shared_ptr<void>(), &images), device) {}

DeviceImages::DeviceImages(ImageSet&& images, torch::Device device)
    : DeviceImages(std::make_shared<const ImageSet>(std::move(images)), device) {}

DeviceImages::DeviceImages(std::shared_ptr<const ImageSet> images, torch::Device device)
    : images_(std::move(images)),
      device_(device),
      size_{images_->height, images_->width,
            images_->crop > 0 ? images_->crop : std::min(images_->height, images_->width)} {
  const int64_t bytes = images_->size() * images_->picture_bytes();
  if (images_->in_memory() && (device.is_cpu() || bytes <= free_memory(device) / 2)) {
    auto* memory = const_cast<uint8_t*>(images_->data());  // only read
    pixels_ = torch::from_blob(memory, {images_->size(), images_->height, images_->width, 3}, torch::kUInt8).to(device);
  }
  feature_bytes_ = feature_budget(images_->feature_bytes, device);
}

Tensor DeviceImages::fetch(const Tensor& index) const {
  const auto options = at::dtype(torch::kUInt8).pinned_memory(device_.is_cuda());
  Tensor pixels = torch::empty({index.size(0), images_->height, images_->width, 3}, options);
  const Tensor rows = index.contiguous();
  copy_pictures(*images_, {rows.data_ptr<int64_t>(), static_cast<size_t>(rows.size(0))}, pixels.data_ptr<uint8_t>());
  return pixels;
}

Tensor DeviceImages::fetch(const Tensor& index, const Tensor& needed) const {
  if (!needed.defined()) return fetch(index);
  const Tensor own = fetch(index.index_select(0, needed));
  std::vector<int64_t> shape = own.sizes().vec();
  shape[0] = index.size(0);
  return torch::zeros(shape, own.options().pinned_memory(device_.is_cuda())).index_copy_(0, needed, own);
}

Tensor DeviceImages::bring(const Tensor& fetched) const {
  return fetched.to(device_, /*non_blocking=*/true);
}

Tensor DeviceImages::centre_crop(const Tensor& pixels) const {
  const int64_t height = pixels.size(1), width = pixels.size(2), side = crop();
  if (height == side && width == side) return as_floats(pixels);
  const auto offset = [&](int64_t length) { return centre_offset(static_cast<int>(length), static_cast<int>(side)); };
  return as_floats(pixels.narrow(1, offset(height), side).narrow(2, offset(width), side).contiguous());
}

Tensor DeviceImages::gather(const Tensor& index) const {
  return centre_crop(resident() ? pixels_.index_select(0, index.to(device_)) : bring(fetch(index.cpu())));
}

Tensor DeviceImages::rows(int64_t begin, int64_t end) const {
  return centre_crop(pixels_.slice(0, begin, end));
}

AugmentationDraws DeviceImages::draw(int64_t count, const Augmentation& augmentation, const Random& random) const {
  return draw_augmentation(count, size_, augmentation, random);
}

Tensor DeviceImages::augmented(const Tensor& index, const AugmentationDraws& draws,
                               const Augmentation& augmentation) const {
  return augment(pixels_, index, draws, size_, augmentation);
}

Tensor DeviceImages::augmented_from(const Tensor& pixels, const AugmentationDraws& draws,
                                    const Augmentation& augmentation) const {
  return augment(pixels, torch::arange(pixels.size(0), draws.crops.options()), draws, size_, augmentation);
}

Tensor DeviceImages::augmented(const Tensor& index, const Augmentation& augmentation, const Random& random) const {
  const AugmentationDraws draws = draw(index.size(0), augmentation, random).on(device_);
  return resident() ? augmented(index.to(device_), draws, augmentation)
                    : augmented_from(bring(fetch(index.cpu())), draws, augmentation);
}

Tensor normalise(const Tensor& pixels, const Normalisation& normalisation) {
  const auto& [mean, deviation] = normalisation;
  const auto is_grey = [](const std::array<double, 3>& values) {
    return values[0] == values[1] && values[1] == values[2];
  };
  if (is_grey(mean) && is_grey(deviation)) return (pixels - mean[0]).div_(deviation[0]);
  return (pixels - channel_constants(mean, pixels)).div_(channel_constants(deviation, pixels));
}

std::vector<Tensor> views(const Tensor& pixels, std::span<const SourceModel> sources) {
  std::vector<Tensor> result;
  for (size_t j = 0; j < sources.size(); ++j) {
    size_t same = 0;
    while (same < j && !(sources[same].info().normalisation == sources[j].info().normalisation)) ++same;
    result.push_back(same < j ? result[same] : normalise(pixels, sources[j].info().normalisation));
  }
  return result;
}

Tensor needed_rows(std::span<const SourceModel> sources, int64_t rows, const Tensor& permutation) {
  for (const SourceModel& source : sources)
    if (source.sharding().by != Sharding::By::kRows) return {};
  const Shard own = own_rows(*sources.front().sharding().comm, rows);
  const Tensor positions = torch::arange(own.begin, own.end);
  if (!permutation.defined()) return positions;
  Tensor needed = torch::zeros({rows}, torch::kBool);
  needed.index_fill_(0, positions, true).index_fill_(0, permutation.index_select(0, positions), true);
  return needed.nonzero().view({-1});
}

}  // namespace tributary
