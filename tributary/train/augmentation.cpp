#include "tributary/train/augmentation.h"

#include <cmath>

namespace tributary {
namespace {

Tensor draw_affine_maps(int64_t count, int64_t side, const Augmentation& augmentation, Random random) {
  Tensor maps = torch::zeros({count, 2, 3}, torch::kFloat32);
  auto map = maps.accessor<float, 3>();
  const auto offset = [&] {
    const auto pixels = static_cast<double>(random.below(2 * augmentation.shift + 1) - augmentation.shift);
    return 2 * pixels / static_cast<double>(side);
  };
  for (int64_t i = 0; i < count; ++i) {
    const double angle = random.uniform(-augmentation.rotation, augmentation.rotation) * (M_PI / 180);
    map[i][0][0] = static_cast<float>(std::cos(angle));
    map[i][0][1] = static_cast<float>(-std::sin(angle));
    map[i][1][0] = static_cast<float>(std::sin(angle));
    map[i][1][1] = static_cast<float>(std::cos(angle));
    map[i][0][2] = static_cast<float>(offset());
    map[i][1][2] = static_cast<float>(offset());
  }
  return maps;
}

// Whether every picture is shown whole and not mirrored.
bool takes_whole_pictures(const PictureSize& size, const Augmentation& augmentation) {
  return size.crop == size.height && size.crop == size.width && augmentation.flip <= 0;
}

Tensor cropped(const Tensor& pixels, const Tensor& index, const Tensor& crops, int64_t side) {
  const int64_t count = index.size(0);
  const Tensor along = torch::arange(side, crops.options());
  const Tensor mirrored = crops.narrow(1, 2, 1);
  const Tensor rows = crops.narrow(1, 0, 1) + along;
  const Tensor columns = crops.narrow(1, 1, 1) + mirrored * (side - 1) + (1 - 2 * mirrored) * along;
  return at::index(pixels, {index.view({count, 1, 1}), rows.view({count, side, 1}), columns.view({count, 1, side})});
}

Tensor greyed(const Tensor& pixels, const Tensor& chosen) {
  const Tensor luma = (pixels * channel_constants({0.299, 0.587, 0.114}, pixels)).sum(1, true);
  return at::where(chosen.view({-1, 1, 1, 1}).to(torch::kBool), luma, pixels);
}

Tensor moved(const Tensor& pixels, const Tensor& maps) {
  const Tensor grid = at::affine_grid_generator(maps, pixels.sizes(), /*align_corners=*/false);
  return at::grid_sampler(pixels, grid, /*bilinear*/ 0, /*zeros*/ 0, /*align_corners=*/false);
}

}  // namespace

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

Augmentation resolve_defaults(const Augmentation& augmentation, const Architecture& network, bool adapting) {
  Augmentation result = augmentation;
  if (result.flip < 0) result.flip = network.photographs ? 0.5 : 0;
  if (result.grey < 0) result.grey = network.photographs && adapting ? 0.1 : 0;
  return result;
}

AugmentationDraws draw_augmentation(int64_t count, const PictureSize& size, const Augmentation& augmentation,
                                    const Random& random) {
  Random places = random.child(2), colours = random.child(1);
  AugmentationDraws draws{torch::zeros({count, 4}, torch::kInt64), {}};
  auto crop = draws.crops.accessor<int64_t, 2>();
  for (int64_t i = 0; i < count; ++i) {
    if (!takes_whole_pictures(size, augmentation)) {
      crop[i][0] = places.below(size.height - size.crop + 1);
      crop[i][1] = places.below(size.width - size.crop + 1);
      crop[i][2] = places.chance(augmentation.flip);
    }
    if (augmentation.grey > 0) crop[i][3] = colours.chance(augmentation.grey);
  }
  if (augmentation.moves()) draws.maps = draw_affine_maps(count, size.crop, augmentation, random.child(0));
  return draws;
}

Tensor augment(const Tensor& pixels, const Tensor& index, const AugmentationDraws& draws, const PictureSize& size,
               const Augmentation& augmentation) {
  Tensor result = as_floats(takes_whole_pictures(size, augmentation) ? pixels.index_select(0, index)
                                                                     : cropped(pixels, index, draws.crops, size.crop));
  if (augmentation.grey > 0) result = greyed(result, draws.crops.select(1, 3));
  if (draws.maps.defined()) result = moved(result, draws.maps);
  return result.contiguous(at::MemoryFormat::ChannelsLast);
}

Tensor as_floats(const Tensor& pixels) {
  return pixels.permute({0, 3, 1, 2}).to(torch::kFloat32).div_(255);
}

Tensor channel_constants(const std::array<double, 3>& values, const Tensor& like) {
  Tensor constants = torch::empty({1, 3, 1, 1}, like.options());
  for (int64_t c = 0; c < 3; ++c) constants.select(1, c).fill_(values[static_cast<size_t>(c)]);
  return constants;
}

}  // namespace tributary
