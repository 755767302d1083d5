#include "tributary/train/batches.h"

#include <cmath>

#include "tributary/base/error.h"

namespace tributary {
namespace {

Tensor as_floats(const Tensor& pixels) {
  return pixels.permute({0, 3, 1, 2}).to(torch::kFloat32).div_(255);
}

Tensor channel_constants(const std::array<double, 3>& values, const Tensor& like) {
  return torch::tensor({values[0], values[1], values[2]}, torch::kFloat64).to(like.options()).view({1, 3, 1, 1});
}

// The affine maps of output to input coordinates in [-1, 1]: rotation, mirror image and shift of every picture.
Tensor affine_maps(int64_t count, int64_t height, int64_t width, const Augmentation& augmentation, Random random) {
  Tensor maps = torch::zeros({count, 2, 3}, torch::kFloat32);
  auto map = maps.accessor<float, 3>();
  const auto offset = [&](int64_t size) {
    const auto pixels = static_cast<double>(random.below(2 * augmentation.shift + 1) - augmentation.shift);
    return 2 * pixels / static_cast<double>(size);
  };
  for (int64_t i = 0; i < count; ++i) {
    const double mirror = random.chance(augmentation.flip) ? -1 : 1;
    const double angle = random.uniform(-augmentation.rotation, augmentation.rotation) * (M_PI / 180);
    map[i][0][0] = static_cast<float>(mirror * std::cos(angle));
    map[i][0][1] = static_cast<float>(-mirror * std::sin(angle));
    map[i][1][0] = static_cast<float>(std::sin(angle));
    map[i][1][1] = static_cast<float>(std::cos(angle));
    map[i][0][2] = static_cast<float>(offset(width));
    map[i][1][2] = static_cast<float>(offset(height));
  }
  return maps;
}

}  // namespace

DeviceImages::DeviceImages(const ImageSet& images, torch::Device device) {
  auto* bytes = const_cast<uint8_t*>(images.pixels.data());  // only read: cloned or copied at once
  const Tensor host = torch::from_blob(bytes, {images.size(), images.height, images.width, 3}, torch::kUInt8);
  pixels_ = device.is_cpu() ? host.clone() : host.to(device);
}

Tensor DeviceImages::gather(const Tensor& index) const {
  return as_floats(pixels_.index_select(0, index.to(pixels_.device())));
}

Tensor DeviceImages::rows(int64_t begin, int64_t end) const {
  return as_floats(pixels_.slice(0, begin, end));
}

Tensor normalise(const Tensor& pixels, const Normalisation& normalisation) {
  const auto& [mean, deviation] = normalisation;
  const auto is_grey = [](const std::array<double, 3>& values) {
    return values[0] == values[1] && values[1] == values[2];
  };
  if (is_grey(mean) && is_grey(deviation)) return (pixels - mean[0]).div_(deviation[0]);
  return (pixels - channel_constants(mean, pixels)).div_(channel_constants(deviation, pixels));
}

std::vector<Tensor> views(const Tensor& pixels, const std::vector<SourceModel>& sources) {
  std::vector<Tensor> result;
  for (size_t j = 0; j < sources.size(); ++j) {
    size_t same = 0;
    while (same < j && !(sources[same].info().normalisation == sources[j].info().normalisation)) ++same;
    result.push_back(same < j ? result[same] : normalise(pixels, sources[j].info().normalisation));
  }
  return result;
}

void declare(OptionTable& table, const std::string& section, Augmentation& augmentation) {
  table.integer(section, "augment_shift", &augmentation.shift, 0, 512, "random shift of training pictures, pixels");
  table.number(section, "augment_flip", &augmentation.flip, 0, 1, "probability of a mirror image");
  table.number(section, "augment_grey", &augmentation.grey, 0, 1, "probability of a grey picture");
  table.number(section, "augment_rotation", &augmentation.rotation, 0, 180, "largest random rotation, degrees");
}

Tensor augment(const Tensor& pixels, const Augmentation& augmentation, Random random) {
  Tensor result = pixels;
  const int64_t count = pixels.size(0);
  if (augmentation.shift > 0 || augmentation.flip > 0 || augmentation.rotation > 0) {
    const Tensor maps = affine_maps(count, pixels.size(2), pixels.size(3), augmentation, random.child(0));
    const Tensor grid = at::affine_grid_generator(maps.to(pixels.device()), pixels.sizes(), /*align_corners=*/false);
    result = at::grid_sampler(result, grid, /*bilinear*/ 0, /*zeros*/ 0, /*align_corners=*/false);
  }
  if (augmentation.grey > 0) {
    Random draws = random.child(1);
    Tensor chosen = torch::empty({count, 1, 1, 1}, torch::kBool);
    for (int64_t i = 0; i < count; ++i) chosen.data_ptr<bool>()[i] = draws.chance(augmentation.grey);
    const Tensor luma = (result * channel_constants({0.299, 0.587, 0.114}, result)).sum(1, true);
    result = at::where(chosen.to(pixels.device()), luma, result);
  }
  return result.contiguous(at::MemoryFormat::ChannelsLast);
}

Sampler::Sampler(const Tensor& index, int64_t batch, Random random)
    : count_(index.size(0)), batch_(batch), random_(random), begin_(count_) {
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
  begin_ = count_ - end < 2 ? count_ : end;
  return batch;
}

}  // namespace tributary
