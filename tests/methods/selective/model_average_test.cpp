#include "tributary/methods/selective/model_average.h"

#include <gmock/gmock.h>

#include "tests/support/methods.h"
#include "tests/support/models.h"
#include "tests/support/tensors.h"
#include "tributary/methods/selective/selective.h"
#include "tributary/train/evaluate.h"

namespace tributary {
namespace {

void fill(const Ensemble& ensemble, double value) {
  torch::NoGradGuard no_grad;
  for (const NamedTensor& tensor : ensemble.state()) tensor.value.detach().fill_(value);
}

TEST(ModelAverage, MovesTowardsTheTrainedValues) {
  Ensemble ensemble = test::small_ensemble({"dtn"});
  fill(ensemble, 4);
  ModelAverage average(ensemble);
  fill(ensemble, 8);
  average.update(0.75);
  average.update(0.5);
  bool counts = false, statistics = false;
  for (const NamedTensor& tensor : average.state()) {
    statistics |= tensor.name.find("running_mean") != std::string::npos;
    counts |= !tensor.value.is_floating_point();
    // 4, then 0.75 * 4 + 0.25 * 8 = 5, then 6.5. The number of batches is copied.
    EXPECT_TENSOR_NEAR(tensor.value, torch::full_like(tensor.value, tensor.value.is_floating_point() ? 6.5 : 8), 1e-6);
  }
  EXPECT_TRUE(counts && statistics);
}

TEST(ModelAverage, TakesTheEnsemblesPlaceAndGivesItBack) {
  Ensemble ensemble = test::small_ensemble({"lenet"});
  fill(ensemble, 4);
  ModelAverage average(ensemble);
  fill(ensemble, 8);
  const Tensor tensor = ensemble.state().front().value;
  average.hold_average();
  average.hold_average();
  EXPECT_EQ(tensor.mean().item<double>(), 4);
  average.hold_trained();
  average.hold_trained();
  EXPECT_EQ(tensor.mean().item<double>(), 8);
}

TEST(ModelAverage, KeepsItsShareOverARound) {
  EXPECT_NEAR(std::pow(decay_per_step(0.3, 16), 16), 0.3, 1e-12);
  EXPECT_EQ(decay_per_step(0.3, 0), 0.3);
}

TEST(ModelAverage, IsWhatARoundReportsAndTheResult) {
  const auto adapted = [](double share) {
    Ensemble ensemble = test::small_ensemble({"lenet", "dtn"});
    SelectiveOptions options;
    options.rounds = 2;
    options.inner_epochs = 1;
    options.batch = 8;
    options.model_average = share;
    test::Recorder recorder;
    const ImageSet pictures = test::noise_pictures(24);
    SelectiveSelfTraining(options).adapt(ensemble, pictures, recorder);
    const Tensor logits = evaluate_logits(ensemble, DeviceImages(pictures, torch::kCPU));
    EXPECT_TENSOR_EQ(logits, recorder.rounds.back().logits);
    return recorder;
  };
  const test::Recorder trained = adapted(0), average = adapted(0.9);
  // The first round trains equally, but its average stays near the unadapted sources.
  EXPECT_EQ(trained.rounds[1].losses.cross_entropy, average.rounds[1].losses.cross_entropy);
  EXPECT_LT(test::distance(average.rounds[1].logits, average.rounds[0].logits),
            0.5 * test::distance(trained.rounds[1].logits, trained.rounds[0].logits));
}

}  // namespace
}  // namespace tributary
