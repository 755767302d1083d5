#include "tributary/experiments/roofline.h"

#include <gtest/gtest.h>

#include <numeric>

#include "tributary/experiments/decode_speed.h"
#include "tributary/model/backbone.h"

namespace tributary {
namespace {

double total(const std::vector<LayerWork>& work, double LayerWork::*of) {
  return std::accumulate(work.begin(), work.end(), 0.0,
                         [&](double sum, const LayerWork& layer) { return sum + layer.*of; });
}

TEST(Roofline, CountsFlopsOfKnownNetworks) {
  // conv1 16 x 16 x 64 x 75, conv2 8 x 8 x 128 x 1,600, conv3 4 x 4 x 256 x 3,200 multiply-adds.
  const auto dtn = work_of(make_backbone("dtn", FirstStride::kIn3x3, std::nullopt).network, 32, true);
  EXPECT_EQ(total(dtn, &LayerWork::flops), 2.0 * (16 * 16 * 64 * 75 + 8 * 8 * 128 * 1600 + 4 * 4 * 256 * 3200));
  // The first convolution has no input gradient.
  EXPECT_EQ(total(dtn, &LayerWork::backward_flops), 2 * total(dtn, &LayerWork::flops) - 2.0 * 16 * 16 * 64 * 75);
  // ResNet-50 v1.5 has 4.1 billion multiply-adds, v1 has 3.8.
  const auto resnet = [](FirstStride stride) {
    return total(work_of(make_backbone("resnet50", stride, std::nullopt).network, 224, false), &LayerWork::flops);
  };
  EXPECT_NEAR(resnet(FirstStride::kIn3x3) / 2e9, 4.1, 0.05);
  EXPECT_NEAR(resnet(FirstStride::kIn1x1) / 2e9, 3.8, 0.1);
}

TEST(Roofline, IsTheMaximumOfComputeAndMemoryTime) {
  const std::vector<LayerWork> work = {{100, 10, 200, 20}, {0, 30, 0, 60}};
  // 100 flops take 1 s and 10 values of 2 bytes 2 s; the second layer is memory-bound, 6 s.
  EXPECT_NEAR(roofline(work, {100, 10}, 2, false), 1 / (2.0 + 6), 1e-12);
  EXPECT_NEAR(roofline(work, {10, 10}, 2, false), 1 / (10.0 + 6), 1e-12);
  EXPECT_NEAR(roofline(work, {100, 10}, 2, true), 1 / (2.0 + 6 + 4 + 12), 1e-12);
}

TEST(DecodeSpeed, MeasuresBothDecodersOnTheSameFiles) {
  const auto jpegs = jpegs_for_timing("", 4);
  ASSERT_EQ(jpegs.size(), 4u);
  EXPECT_NE(jpegs[0], jpegs[1]);
  const DecodeSpeed speed = measure_decoding(jpegs, 2);
  EXPECT_GT(speed.ours, 0);
  EXPECT_GT(speed.libjpeg, 0);
}

}  // namespace
}  // namespace tributary
