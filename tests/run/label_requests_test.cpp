#include "tributary/run/label_requests.h"

#include <gtest/gtest.h>

#include "tests/support/methods.h"
#include "tests/support/models.h"
#include "tributary/adapt/information.h"
#include "tributary/train/evaluate.h"

namespace tributary {
namespace {

// Of two pictures, the more uncertain one is asked for, by logits in which a source says nothing about class 3.
TEST(LabelRequests, WeighsSourcesWithOtherClasses) {
  Ensemble ensemble;
  ensemble.sources.emplace_back(test::small_info("lenet", 4, 16), Random(1));
  ensemble.sources.emplace_back(test::small_info("lenet", 3, 16), Random(2));
  ensemble.sources[1].rename("other");
  ensemble.sources[1].set_classes(ensemble.sources[0].info().classes, {0, 1, 2});
  torch::NoGradGuard no_grad;
  for (const NamedTensor& tensor : ensemble.sources[1].state())
    if (tensor.name == "classifier.bias") Tensor(tensor.value).fill_(1);  // far from the 0 of an unknown class
  constexpr int64_t kPictures = 12;
  const DeviceImages images(test::noise_pictures(kPictures), torch::kCPU);
  const Tensor uncertainty = entropy(evaluate_logits(ensemble, images).mean(0).softmax(-1));
  for (int64_t i = 1; i < kPictures; ++i) {
    std::vector<int64_t> known;
    for (int64_t other = 1; other < kPictures; ++other)
      if (other != i) known.push_back(other);
    const int64_t wanted = uncertainty[i].item<double>() > uncertainty[0].item<double>() ? i : 0;
    EXPECT_EQ(pictures_to_label(ensemble, images, 1, known, 0), std::vector<int64_t>{wanted}) << i;
  }
}

}  // namespace
}  // namespace tributary
