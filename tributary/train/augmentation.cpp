#include "tributary/train/augmentation.h"

#include <algorithm>
#include <cmath>

#include "tributary/device/device.h"

namespace tributary {
namespace {

Tensor draw_affine_maps(int64_t count, int64_t side, const Augmentation& augmentation, Random random, Random zooms) {
  Tensor maps = torch::zeros({count, 2, 3}, torch::kFloat32);
  auto map = maps.accessor<float, 3>();
  const int64_t shift = std::max<int64_t>(0, augmentation.shift);
  const double rotation = std::max(0.0, augmentation.rotation);
  const double zoom_in = std::max(0.0, augmentation.zoom_in), zoom_out = std::max(0.0, augmentation.zoom_out);
  const auto offset = [&] {
    return 2 * static_cast<double>(random.below(2 * shift + 1) - shift) / static_cast<double>(side);
  };
  for (int64_t i = 0; i < count; ++i) {
    const double angle = random.uniform(-rotation, rotation) * (M_PI / 180);
    const double right = offset(), down = offset();
    double part = 1,
           room = 0;  // the shown part of the side, and how far its centre may move without leaving the picture
    if (zoom_in > 0 || zoom_out > 0) part = zooms.uniform(1 - zoom_in, 1 + zoom_out);
    if (part < 1) room = 1 - part;
    const auto place = [&] { return room > 0 ? zooms.uniform(-room, room) : 0; };
    map[i][0][0] = static_cast<float>(part * std::cos(angle));
    map[i][0][1] = static_cast<float>(-part * std::sin(angle));
    map[i][1][0] = static_cast<float>(part * std::sin(angle));
    map[i][1][1] = static_cast<float>(part * std::cos(angle));
    map[i][0][2] = static_cast<float>(right + place());
    map[i][1][2] = static_cast<float>(down + place());
  }
  return maps;
}

Tensor draw_colours(int64_t count, const Augmentation& augmentation, Random jitter, Random cuts) {
  Tensor colours = torch::ones({count, 5}, torch::kFloat32);
  auto colour = colours.accessor<float, 2>();
  for (int64_t i = 0; i < count; ++i) {
    if (augmentation.jitter > 0)
      for (int64_t c = 0; c < 3; ++c)
        colour[i][c] = static_cast<float>(jitter.uniform(1 - augmentation.jitter, 1 + augmentation.jitter));
    for (int64_t c = 3; c < 5; ++c) colour[i][c] = static_cast<float>(cuts.uniform());
  }
  return colours;
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

// The luma of pictures [n, 3, h, w], [n, 1, h, w].
Tensor luma(const Tensor& pixels) {
  return (pixels * channel_constants({0.299, 0.587, 0.114}, pixels)).sum(1, true);
}

Tensor greyed(const Tensor& pixels, const Tensor& chosen) {
  return at::where(chosen.view({-1, 1, 1, 1}).to(torch::kBool), luma(pixels), pixels);
}

Tensor moved(const Tensor& pixels, const Tensor& maps) {
  const Tensor grid = at::affine_grid_generator(maps, pixels.sizes(), /*align_corners=*/false);
  return at::grid_sampler(pixels, grid, /*bilinear*/ 0, /*border*/ 1, /*align_corners=*/false);
}

// Brightness, then contrast around the picture's mean, then saturation around its luma.
Tensor jittered(const Tensor& pixels, const Tensor& colours) {
  const auto factor = [&](int64_t column) { return colours.select(1, column).view({-1, 1, 1, 1}); };
  Tensor result = pixels * factor(0);
  const Tensor mean = result.mean(at::IntArrayRef({1, 2, 3}), true);
  result = mean + (result - mean) * factor(1);
  const Tensor grey = luma(result);
  return (grey + (result - grey) * factor(2)).clamp(0, 1);
}

// Replaces a square of side `share` times the picture's by the mean colour. It may reach over the border.
Tensor cut_out(const Tensor& pixels, const Tensor& colours, double share) {
  const int64_t side = pixels.size(2);
  const Tensor along = (torch::arange(side, colours.options()) + 0.5) / static_cast<double>(side);
  const Tensor rows = (along - colours.narrow(1, 3, 1)).abs() < share / 2;     // [n, side]
  const Tensor columns = (along - colours.narrow(1, 4, 1)).abs() < share / 2;  // [n, side]
  const Tensor square = rows.view({-1, 1, side, 1}).logical_and(columns.view({-1, 1, 1, side}));
  return at::where(square, pixels.mean(at::IntArrayRef({2, 3}), true), pixels);
}

}  // namespace

void declare(OptionTable& table, const std::string& section, Augmentation& augmentation) {
  table.choice(section, "augment", &augmentation.level,
               {{"auto", AugmentationLevel::kAuto},
                {"standard", AugmentationLevel::kStandard},
                {"strong", AugmentationLevel::kStrong}},
               "defaults of the augmentation of training pictures: standard (crop and mirror photographs), or strong "
               "(also rotation, zoom, colour jitter and cut-out); auto is strong for --variant tributary, else "
               "standard");
  table
      .integer(section, "augment_shift", &augmentation.shift, -1, 512,
               "random shift of training pictures, pixels; here and below, -1 takes the default of --augment")
      .metavar("PIXELS");
  table.number(section, "augment_flip", &augmentation.flip, -1, 1,
               "probability of a mirror image; default 0.5 for photographs of more than 64 pixels a side, else 0");
  table.number(section, "augment_grey", &augmentation.grey, -1, 1,
               "probability of a grey picture; default 0.1 for such photographs in adaptation, else 0");
  table.number(section, "augment_rotation", &augmentation.rotation, -1, 180, "largest random rotation, degrees")
      .metavar("DEGREES");
  table
      .number(section, "augment_zoom_in", &augmentation.zoom_in, -1, 0.9,
              "zoom into a random part of the picture of side 1 - this, at most")
      .metavar("SHARE");
  table
      .number(section, "augment_zoom_out", &augmentation.zoom_out, -1, 1,
              "shrink the picture by up to this share; its border is repeated")
      .metavar("SHARE");
  table
      .number(section, "augment_jitter", &augmentation.jitter, -1, 1,
              "largest relative change of brightness, contrast and saturation")
      .metavar("SHARE");
  table
      .number(section, "augment_cutout", &augmentation.cutout, -1, 1,
              "side of a random square that is replaced by the mean colour, as a share of the picture's side")
      .metavar("SHARE");
}

Augmentation resolve_defaults(const Augmentation& augmentation, const ModelInfo& model, bool adapting) {
  constexpr int kLargestDigit = 64;  // side in pixels
  const bool strong = augmentation.level == AugmentationLevel::kStrong;
  const bool photographs = architecture(model.architecture).photographs && model.preprocessing.size > kLargestDigit;
  Augmentation standard;
  standard.shift = strong && !photographs ? 2 : 0;
  standard.flip = photographs ? 0.5 : 0;
  standard.grey = !photographs ? 0 : strong ? 0.2 : adapting ? 0.1 : 0;
  standard.rotation = !strong ? 0 : photographs ? 10 : 15;
  standard.zoom_in = !strong ? 0 : photographs ? 0.4 : 0.2;
  standard.zoom_out = strong && !photographs ? 0.2 : 0;
  standard.jitter = !strong ? 0 : photographs ? 0.4 : 0.3;
  standard.cutout = strong && photographs ? 0.25 : 0;
  Augmentation result = augmentation;
  const auto fill = [](auto& value, auto fallback) {
    if (value < 0) value = fallback;
  };
  fill(result.shift, standard.shift);
  fill(result.flip, standard.flip);
  fill(result.grey, standard.grey);
  fill(result.rotation, standard.rotation);
  fill(result.zoom_in, standard.zoom_in);
  fill(result.zoom_out, standard.zoom_out);
  fill(result.jitter, standard.jitter);
  fill(result.cutout, standard.cutout);
  return result;
}

AugmentationDraws AugmentationDraws::on(torch::Device device) const {
  const auto there = [&](const Tensor& values) { return values.defined() ? upload(values, device) : values; };
  return {there(crops), there(maps), there(colours)};
}

AugmentationDraws AugmentationDraws::repeated(int64_t count) const {
  const auto expanded = [&](const Tensor& values) {
    if (!values.defined()) return values;
    std::vector<int64_t> sizes = values.sizes().vec();
    sizes.front() = count;
    return values.expand(sizes).contiguous();
  };
  return {expanded(crops), expanded(maps), expanded(colours)};
}

AugmentationDraws draw_augmentation(int64_t count, const PictureSize& size, const Augmentation& augmentation,
                                    const Random& random) {
  Random places = random.child(2), colours = random.child(1);
  AugmentationDraws draws{torch::zeros({count, 4}, torch::kInt64), {}, {}};
  auto crop = draws.crops.accessor<int64_t, 2>();
  for (int64_t i = 0; i < count; ++i) {
    if (!takes_whole_pictures(size, augmentation)) {
      crop[i][0] = places.below(size.height - size.crop + 1);
      crop[i][1] = places.below(size.width - size.crop + 1);
      crop[i][2] = places.chance(augmentation.flip);
    }
    if (augmentation.grey > 0) crop[i][3] = colours.chance(augmentation.grey);
  }
  if (augmentation.moves())
    draws.maps = draw_affine_maps(count, size.crop, augmentation, random.child(0), random.child(3));
  if (augmentation.recolours()) draws.colours = draw_colours(count, augmentation, random.child(4), random.child(5));
  return draws;
}

Tensor augment(const Tensor& pixels, const Tensor& index, const AugmentationDraws& draws, const PictureSize& size,
               const Augmentation& augmentation) {
  Tensor result = as_floats(takes_whole_pictures(size, augmentation) ? pixels.index_select(0, index)
                                                                     : cropped(pixels, index, draws.crops, size.crop));
  if (augmentation.grey > 0) result = greyed(result, draws.crops.select(1, 3));
  if (draws.maps.defined()) result = moved(result, draws.maps);
  if (augmentation.jitter > 0) result = jittered(result, draws.colours);
  if (augmentation.cutout > 0) result = cut_out(result, draws.colours, augmentation.cutout);
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
