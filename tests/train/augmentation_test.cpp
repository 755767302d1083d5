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
  EXPECT_TENSOR_EQ(augment(pixels, all, draws, kSize, augmentation), at::grid_sampler(plain, grid, 0, 0, false));
}

TEST(Augmentation, ShiftsWholePixelsAndFillsWithBlack) {
  const Tensor pixels = noise(1);
  const Augmentation augmentation{4, 0, 0, 0};
  AugmentationDraws draws = draw_augmentation(1, kSize, augmentation, Random(7));
  draws.maps = torch::tensor({{{1.0f, 0.0f, 2 * 3 / 32.0f}, {0.0f, 1.0f, -2 * 2 / 32.0f}}});
  const Tensor moved = augment(pixels, torch::zeros({1}, torch::kInt64), draws, kSize, augmentation)[0];
  const Tensor plain = pixels[0].permute({2, 0, 1}).to(torch::kFloat32).div(255);
  // Output (y, x) shows input (y - 2, x + 3).
  EXPECT_TENSOR_NEAR(moved.slice(1, 2, 32).slice(2, 0, 29), plain.slice(1, 0, 30).slice(2, 3, 32), 1e-5);
  EXPECT_TENSOR_NEAR(moved.slice(1, 0, 2), torch::zeros({3, 2, 32}), 1e-5);
  EXPECT_TENSOR_NEAR(moved.slice(2, 29, 32), torch::zeros({3, 32, 3}), 1e-5);
}

TEST(Augmentation, FlagsDrawFromIndependentStreams) {
  // A flag must not shift the random stream of another, or one more flag would change all of them.
  const PictureSize cropped{40, 40, 32};
  const Augmentation base{0, 0.5, 0.5, 0};
  Augmentation moves = base;
  moves.shift = 2;
  EXPECT_TENSOR_EQ(draw_augmentation(9, cropped, base, Random(3)).crops,
                   draw_augmentation(9, cropped, moves, Random(3)).crops);
  Augmentation coloured = base;
  coloured.grey = 0;
  EXPECT_TENSOR_EQ(draw_augmentation(9, cropped, base, Random(3)).crops.narrow(1, 0, 3),
                   draw_augmentation(9, cropped, coloured, Random(3)).crops.narrow(1, 0, 3));
}

}  // namespace
}  // namespace tributary
