#include "tributary/train/augmentation.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/tensors.h"

namespace tributary {
namespace {

constexpr PictureSize kSize{32, 32, 32};

Tensor noise(int64_t count) {
  return (test::normals({count, 32, 32, 3}, 1).sigmoid() * 255).to(torch::kUInt8);
}

TEST(AugmentationDraws, AffineMapsUseTheKeyedStreamInPixels) {
  const Augmentation augmentation{/*shift=*/3, /*flip=*/0, /*grey=*/0, /*rotation=*/30};
  const Random random(7);
  const Tensor maps = draw_augmentation(5, kSize, augmentation, random).maps;
  Random stream = random.child(0);
  for (int64_t i = 0; i < 5; ++i) {
    const double angle = stream.uniform(-30, 30) * (M_PI / 180);
    const double right = 2 * static_cast<double>(stream.below(7) - 3) / 32;
    const double down = 2 * static_cast<double>(stream.below(7) - 3) / 32;
    const Tensor expected =
        torch::tensor({{std::cos(angle), -std::sin(angle), right}, {std::sin(angle), std::cos(angle), down}})
            .to(torch::kFloat32);
    EXPECT_TENSOR_EQ(maps[i], expected);
  }
  EXPECT_FALSE(draw_augmentation(5, kSize, {0, 0.5, 0.5, 0}, random).maps.defined());
}

TEST(Augmentation, MatchesAffineGridAndGridSample) {
  const Tensor pixels = noise(6), all = torch::arange(6);
  const Augmentation augmentation{3, 0, 0, 30};
  const AugmentationDraws draws = draw_augmentation(6, kSize, augmentation, Random(7));
  const Tensor plain = pixels.permute({0, 3, 1, 2}).to(torch::kFloat32).div(255);
  const Tensor grid = at::affine_grid_generator(draws.maps, plain.sizes(), false);
  EXPECT_TENSOR_EQ(augment(pixels, all, draws, kSize, augmentation), at::grid_sampler(plain, grid, 0, 1, false));
}

TEST(Augmentation, ShiftsWholePixelsAndRepeatsTheBorder) {
  const Tensor pixels = noise(1);
  const Augmentation augmentation{4, 0, 0, 0};
  AugmentationDraws draws = draw_augmentation(1, kSize, augmentation, Random(7));
  draws.maps = torch::tensor({{{1.0f, 0.0f, 2 * 3 / 32.0f}, {0.0f, 1.0f, -2 * 2 / 32.0f}}});
  const Tensor moved = augment(pixels, torch::zeros({1}, torch::kInt64), draws, kSize, augmentation)[0];
  const Tensor plain = pixels[0].permute({2, 0, 1}).to(torch::kFloat32).div(255);
  // Output (y, x) shows input (y - 2, x + 3).
  EXPECT_TENSOR_NEAR(moved.slice(1, 2, 32).slice(2, 0, 29), plain.slice(1, 0, 30).slice(2, 3, 32), 1e-5);
  for (const int64_t row : {0, 1}) EXPECT_TENSOR_NEAR(moved.select(1, row), moved.select(1, 2), 1e-5);
  for (const int64_t column : {29, 30, 31}) EXPECT_TENSOR_NEAR(moved.select(2, column), moved.select(2, 28), 1e-5);
}

TEST(AugmentationDraws, ZoomShowsAPartInsideThePicture) {
  Augmentation augmentation;
  augmentation.zoom_in = 0.4;
  const Tensor maps = draw_augmentation(200, kSize, augmentation, Random(7)).maps;
  const Tensor part = maps.select(1, 0).select(1, 0);
  EXPECT_GE(part.min().item<float>(), 0.6f);
  EXPECT_LT(part.min().item<float>(), 0.65f);
  EXPECT_LE(part.max().item<float>(), 1.0f);
  EXPECT_TENSOR_EQ(maps.select(1, 1).select(1, 1), part);
  // Centre and half of the part, in coordinates of -1 to 1, stay within the picture.
  for (const int64_t axis : {0, 1})
    EXPECT_LE((maps.select(1, axis).select(1, 2).abs() + part).max().item<float>(), 1.0f + 1e-6f);
}

TEST(AugmentationDraws, ZoomOutShowsMoreThanThePicture) {
  Augmentation augmentation;
  augmentation.zoom_out = 0.2;
  const Tensor maps = draw_augmentation(200, kSize, augmentation, Random(7)).maps;
  const Tensor part = maps.select(1, 0).select(1, 0);
  EXPECT_GE(part.min().item<float>(), 1.0f);
  EXPECT_GT(part.max().item<float>(), 1.15f);
  EXPECT_EQ(maps.select(2, 2).abs().max().item<float>(), 0.0f);
}

// Draws that change nothing, for tests that set one of them.
AugmentationDraws identity_draws() {
  return {torch::zeros({1, 4}, torch::kInt64), {}, torch::tensor({{1.0f, 1.0f, 1.0f, 0.0f, 0.0f}})};
}

Tensor recoloured(const Tensor& pixels, const AugmentationDraws& draws, const Augmentation& augmentation) {
  return augment(pixels, torch::zeros({1}, torch::kInt64), draws, {2, 2, 2}, augmentation)[0];
}

TEST(Augmentation, JitterChangesBrightnessContrastAndSaturation) {
  // Values in 0..1: (.8, 0, 0), (.4, .4, 0), (.8, 0, 0), (.4, .4, .8); their mean is 1/3.
  const Tensor pixels = torch::tensor({{{{204, 0, 0}, {102, 102, 0}}, {{204, 0, 0}, {102, 102, 204}}}}, torch::kUInt8);
  Augmentation augmentation;
  augmentation.jitter = 0.5;
  const auto value = [&](std::array<float, 3> factors, int64_t channel, int64_t column) {
    AugmentationDraws draws = identity_draws();
    for (int64_t i = 0; i < 3; ++i) draws.colours[0][i] = factors[static_cast<size_t>(i)];
    return recoloured(pixels, draws, augmentation)[channel][0][column].item<float>();
  };
  EXPECT_NEAR(value({1, 1, 1}, 0, 0), 0.8, 1e-6);
  EXPECT_NEAR(value({0.5, 1, 1}, 0, 0), 0.4, 1e-6);
  EXPECT_NEAR(value({1.5, 1, 1}, 0, 0), 1.0, 1e-6);                      // clamped
  EXPECT_NEAR(value({1, 0.5, 1}, 0, 0), (0.8 + 1.0 / 3) / 2, 1e-6);      // around the mean
  EXPECT_NEAR(value({1, 1, 0.5}, 1, 0), 0.5 * (0.299 * 0.8), 1e-6);      // around the luma of the pixel
  EXPECT_NEAR(value({1, 1, 0}, 2, 1), 0.299 * 0.4 + 0.587 * 0.4, 1e-6);  // no saturation: grey
}

TEST(Augmentation, CutoutIsASquareOfTheMeanColour) {
  const Tensor pixels = noise(1);
  Augmentation augmentation;
  augmentation.cutout = 0.25;
  AugmentationDraws draws = identity_draws();
  draws.colours[0][3] = 0.5f;  // centre row
  draws.colours[0][4] = 0.0f;  // centre column: half of the square is outside
  const Tensor plain = pixels[0].permute({2, 0, 1}).to(torch::kFloat32).div(255);
  Tensor expected = plain.clone();
  expected.slice(1, 12, 20).slice(2, 0, 4) = plain.mean(at::IntArrayRef({1, 2}), true);
  EXPECT_TENSOR_NEAR(augment(pixels, torch::zeros({1}, torch::kInt64), draws, kSize, augmentation)[0], expected, 1e-6);
}

TEST(AugmentationDraws, RepeatForAWholeBatch) {
  Augmentation augmentation;
  augmentation.rotation = 30;
  augmentation.jitter = 0.5;
  const AugmentationDraws one = draw_augmentation(1, kSize, augmentation, Random(7)), all = one.repeated(3);
  EXPECT_TENSOR_EQ(all.maps[2], one.maps[0]);
  EXPECT_TENSOR_EQ(all.colours[2], one.colours[0]);
  EXPECT_EQ(all.crops.size(0), 3);
}

TEST(Augmentation, StrongLevelFillsWhatIsNotGiven) {
  Augmentation strong;
  strong.level = AugmentationLevel::kStrong;
  strong.jitter = 0;
  const Augmentation photographs = resolve_defaults(strong, fresh_info("", "resnet50", {}), true);
  EXPECT_EQ(photographs.rotation, 10);
  EXPECT_EQ(photographs.grey, 0.2);
  EXPECT_EQ(photographs.jitter, 0);  // given
  const Augmentation digits = resolve_defaults(strong, fresh_info("", "dtn", {}), true);
  EXPECT_EQ(digits.shift, 2);
  EXPECT_EQ(digits.flip, 0);
  EXPECT_EQ(digits.cutout, 0);
  EXPECT_FALSE(resolve_defaults({}, fresh_info("", "dtn", {}), true).moves());
  EXPECT_FALSE(resolve_defaults({}, fresh_info("", "resnet50", {}), true).recolours());
}

TEST(Augmentation, FlagsDrawFromIndependentStreams) {
  // A flag must not shift the random stream of another, or one more flag would change all of them.
  const PictureSize cropped{40, 40, 32};
  const Augmentation base{0, 0.5, 0.5, 0};
  Augmentation moves = base;
  moves.shift = 2;
  EXPECT_TENSOR_EQ(draw_augmentation(9, cropped, base, Random(3)).crops,
                   draw_augmentation(9, cropped, moves, Random(3)).crops);
  moves.zoom_in = 0.5;
  moves.jitter = 0.5;
  const AugmentationDraws more = draw_augmentation(9, cropped, moves, Random(3));
  EXPECT_TENSOR_EQ(draw_augmentation(9, cropped, base, Random(3)).crops, more.crops);
  moves.cutout = 0.5;
  EXPECT_TENSOR_EQ(draw_augmentation(9, cropped, moves, Random(3)).colours.narrow(1, 0, 3),
                   more.colours.narrow(1, 0, 3));
  Augmentation coloured = base;
  coloured.grey = 0;
  EXPECT_TENSOR_EQ(draw_augmentation(9, cropped, base, Random(3)).crops.narrow(1, 0, 3),
                   draw_augmentation(9, cropped, coloured, Random(3)).crops.narrow(1, 0, 3));
}

}  // namespace
}  // namespace tributary
