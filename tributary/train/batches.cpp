#include "tributary/train/batches.h"

#include <cmath>

#include "tributary/base/error.h"
#include "tributary/data/crop.h"
#include "tributary/device/device.h"
#include "tributary/train/feature_storage.h"

namespace tributary {
namespace {

Tensor as_floats(const Tensor& pixels) {
  return pixels.permute({0, 3, 1, 2}).to(torch::kFloat32).div_(255);
}

// Filled in on the device: nothing is copied there, so that the work can be recorded.
Tensor channel_constants(const std::array<double, 3>& values, const Tensor& like) {
  Tensor constants = torch::empty({1, 3, 1, 1}, like.options());
  for (int64_t c = 0; c < 3; ++c) constants.select(1, c).fill_(values[static_cast<size_t>(c)]);
  return constants;
}

// The affine maps of output to input coordinates in [-1, 1]: rotation and shift of every picture.
Tensor affine_maps(int64_t count, int64_t height, int64_t width, const Augmentation& augmentation, Random random) {
  Tensor maps = torch::zeros({count, 2, 3}, torch::kFloat32);
  auto map = maps.accessor<float, 3>();
  const auto offset = [&](int64_t size) {
    const auto pixels = static_cast<double>(random.below(2 * augmentation.shift + 1) - augmentation.shift);
    return 2 * pixels / static_cast<double>(size);
  };
  for (int64_t i = 0; i < count; ++i) {
    const double angle = random.uniform(-augmentation.rotation, augmentation.rotation) * (M_PI / 180);
    map[i][0][0] = static_cast<float>(std::cos(angle));
    map[i][0][1] = static_cast<float>(-std::sin(angle));
    map[i][1][0] = static_cast<float>(std::sin(angle));
    map[i][1][1] = static_cast<float>(std::cos(angle));
    map[i][0][2] = static_cast<float>(offset(width));
    map[i][1][2] = static_cast<float>(offset(height));
  }
  return maps;
}

Tensor moved(const Tensor& pixels, const Augmentation& augmentation, Random random) {
  const Tensor maps = affine_maps(pixels.size(0), pixels.size(2), pixels.size(3), augmentation, random);
  const Tensor grid = at::affine_grid_generator(maps.to(pixels.device()), pixels.sizes(), /*align_corners=*/false);
  return at::grid_sampler(pixels, grid, /*bilinear*/ 0, /*zeros*/ 0, /*align_corners=*/false);
}

Tensor greyed(const Tensor& pixels, const Tensor& chosen) {
  const Tensor luma = (pixels * channel_constants({0.299, 0.587, 0.114}, pixels)).sum(1, true);
  return at::where(chosen.view({-1, 1, 1, 1}).to(torch::kBool), luma, pixels);
}

}  // namespace

Augmentation resolve_defaults(const Augmentation& augmentation, const Architecture& network, bool adapting) {
  Augmentation result = augmentation;
  if (result.flip < 0) result.flip = network.photographs ? 0.5 : 0;
  if (result.grey < 0) result.grey = network.photographs && adapting ? 0.1 : 0;
  return result;
}

DeviceImages::DeviceImages(const ImageSet& images, torch::Device device)
    : DeviceImages(std::shared_ptr<const ImageSet>(std::shared_ptr<void>(), &images), device) {}

DeviceImages::DeviceImages(ImageSet&& images, torch::Device device)
    : DeviceImages(std::make_shared<const ImageSet>(std::move(images)), device) {}

DeviceImages::DeviceImages(std::shared_ptr<const ImageSet> images, torch::Device device)
    : images_(std::move(images)),
      device_(device),
      crop_(images_->crop > 0 ? images_->crop : std::min(images_->height, images_->width)) {
  const int64_t bytes = images_->size() * images_->picture_bytes();
  const int64_t budget = images_->gpu_bytes >= 0 ? images_->gpu_bytes : free_memory(device) / 2;
  if (images_->in_memory() && (device.is_cpu() || bytes <= budget)) {
    auto* memory = const_cast<uint8_t*>(images_->pixels.data());  // only read
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
  const int64_t height = pixels.size(1), width = pixels.size(2);
  if (height == crop_ && width == crop_) return as_floats(pixels);
  const auto offset = [&](int64_t length) { return centre_offset(static_cast<int>(length), static_cast<int>(crop_)); };
  return as_floats(pixels.narrow(1, offset(height), crop_).narrow(2, offset(width), crop_).contiguous());
}

Tensor DeviceImages::gather(const Tensor& index) const {
  return centre_crop(resident() ? pixels_.index_select(0, index.to(device_)) : bring(fetch(index.cpu())));
}

Tensor DeviceImages::rows(int64_t begin, int64_t end) const {
  return centre_crop(pixels_.slice(0, begin, end));
}

bool DeviceImages::whole(const Augmentation& augmentation) const {
  return crop_ == images_->height && crop_ == images_->width && augmentation.flip <= 0;
}

CropParameters DeviceImages::draw_crops(int64_t count, const Augmentation& augmentation, const Random& random) const {
  Random places = random.child(2), colours = random.child(1);
  CropParameters crops = torch::zeros({count, 4}, torch::kInt64);
  auto numbers = crops.accessor<int64_t, 2>();
  for (int64_t i = 0; i < count; ++i) {
    if (!whole(augmentation)) {
      numbers[i][0] = places.below(images_->height - crop_ + 1);
      numbers[i][1] = places.below(images_->width - crop_ + 1);
      numbers[i][2] = places.chance(augmentation.flip);
    }
    if (augmentation.grey > 0) numbers[i][3] = colours.chance(augmentation.grey);
  }
  return crops;
}

Tensor DeviceImages::crop_from(const Tensor& pixels, const Tensor& index, const CropParameters& crops,
                               const Augmentation& augmentation) const {
  Tensor result;
  if (whole(augmentation)) {
    result = as_floats(pixels.index_select(0, index));
  } else {
    const int64_t count = index.size(0);
    const Tensor along = torch::arange(crop_, crops.options());
    const Tensor mirrored = crops.narrow(1, 2, 1);
    const Tensor rows = crops.narrow(1, 0, 1) + along;
    const Tensor columns = crops.narrow(1, 1, 1) + mirrored * (crop_ - 1) + (1 - 2 * mirrored) * along;
    result = as_floats(
        at::index(pixels, {index.view({count, 1, 1}), rows.view({count, crop_, 1}), columns.view({count, 1, crop_})}));
  }
  return augmentation.grey > 0 ? greyed(result, crops.select(1, 3)) : result;
}

Tensor DeviceImages::apply_crops(const Tensor& index, const CropParameters& crops,
                                 const Augmentation& augmentation) const {
  return crop_from(pixels_, index, crops, augmentation);
}

Tensor DeviceImages::apply_crops_to(const Tensor& pixels, const CropParameters& crops,
                                    const Augmentation& augmentation) const {
  return crop_from(pixels, torch::arange(pixels.size(0), crops.options()), crops, augmentation);
}

Tensor DeviceImages::augmented(const Tensor& index, const Augmentation& augmentation, Random random) const {
  const CropParameters crops = upload(draw_crops(index.size(0), augmentation, random), device());
  Tensor result = resident() ? apply_crops(index.to(device()), crops, augmentation)
                             : apply_crops_to(bring(fetch(index.cpu())), crops, augmentation);
  if (augmentation.shift > 0 || augmentation.rotation > 0) result = moved(result, augmentation, random.child(0));
  return result.contiguous(at::MemoryFormat::ChannelsLast);
}

namespace {

std::vector<Shard> blocks(int64_t count, int64_t batch) {
  std::vector<Shard> all;
  for (int64_t begin = 0; begin < count; begin += batch) all.push_back({begin, std::min(begin + batch, count)});
  return all;
}

}  // namespace

SequentialBatches::SequentialBatches(const DeviceImages& images, int64_t batch)
    : SequentialBatches(images, blocks(images.size(), batch)) {}

SequentialBatches::SequentialBatches(const DeviceImages& images, std::vector<Shard> batches)
    : images_(images),
      batches_(std::move(batches)),
      fetched_(static_cast<int64_t>(batches_.size()), /*ahead=*/true, [this] {
        const Shard& rows = batches_[next_fetched_++];
        return images_.fetch(torch::arange(rows.begin, rows.end));
      }) {}

Tensor SequentialBatches::next() {
  const Shard& rows = batches_[next_++];
  return images_.resident() ? images_.rows(rows.begin, rows.end) : images_.centre_crop(images_.bring(fetched_.next()));
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
  const Tensor places = torch::arange(own.begin, own.end);
  if (!permutation.defined()) return places;
  Tensor needed = torch::zeros({rows}, torch::kBool);
  needed.index_fill_(0, places, true).index_fill_(0, permutation.index_select(0, places), true);
  return needed.nonzero().view({-1});
}

void declare(OptionTable& table, const std::string& section, Augmentation& augmentation) {
  table.integer(section, "augment_shift", &augmentation.shift, 0, 512, "random shift of training pictures, pixels")
      .metavar("PIXELS");
  table.number(section, "augment_flip", &augmentation.flip, -1, 1,
               "probability of a mirror image; -1 takes 0.5 for photographs and 0 for digits");
  table.number(section, "augment_grey", &augmentation.grey, -1, 1,
               "probability of a grey picture; -1 takes 0.1 for photographs in adaptation, else 0");
  table.number(section, "augment_rotation", &augmentation.rotation, 0, 180, "largest random rotation, degrees")
      .metavar("DEGREES");
}

Sampler::Sampler(const Tensor& index, int64_t batch, Random random, int64_t least)
    : count_(index.size(0)), batch_(batch), least_(std::max<int64_t>(2, least)), random_(random), begin_(count_) {
  TRIBUTARY_CHECK(count_ >= 2 && batch_ >= 2, "{} samples in batches of {}", count_, batch_);
}

void Sampler::restart() {
  const std::vector<int64_t> order = random_.child(sweep_++).permutation(count_);
  order_ = torch::tensor(order, torch::kInt64);
  begin_ = 0;
}

Tensor Sampler::next() {
  if (exhausted()) restart();
  const int64_t end = std::min(begin_ + batch_, count_);
  const Tensor batch = order_.slice(0, begin_, end);
  begin_ = count_ - end < least_ ? count_ : end;
  return batch;
}

}  // namespace tributary
