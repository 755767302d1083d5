#include <gmock/gmock.h>

#include <set>

#include "tests/support/models.h"
#include "tests/support/tensors.h"
#include "tributary/base/stopwatch.h"
#include "tributary/data/digits/digits.h"
#include "tributary/eval/metrics.h"
#include "tributary/train/evaluate.h"
#include "tributary/train/sampler.h"
#include "tributary/train/schedule.h"
#include "tributary/train/sequential_batches.h"
#include "tributary/train/source_training.h"

namespace tributary {
namespace {

TEST(LabelSmoothing, MatchesKnownValues) {
  for (const double smoothing : {0.0, 0.1, 0.5})
    EXPECT_NEAR(smoothed_cross_entropy(torch::zeros({1, 10}), test::indices({3}), smoothing).item<double>(), 2.302585,
                1e-6);
  Tensor perfect = torch::zeros({1, 10});
  perfect[0][3] = 50;
  EXPECT_NEAR(smoothed_cross_entropy(perfect, test::indices({3}), 0.1).item<double>(), 4.5, 1e-3);
}

TEST(Schedule, MatchesKnownFactors) {
  EXPECT_NEAR(decay_factor(1, 100), 0.931012, 1e-6);
  EXPECT_NEAR(decay_factor(50, 100), 0.260847, 1e-6);
  EXPECT_NEAR(decay_factor(100, 100), 0.165560, 1e-6);
}

TEST(BestCopy, KeepsTheLatestOfTheBest) {
  SourceModel model(test::small_info(), Random(1));
  const Tensor weight = model.bottleneck_parameters()[0].value.detach();
  BestCopy best, equal;
  best.offer(0.9, model);
  equal.offer(0.5, model);
  const Tensor first = weight.clone();
  weight.add_(1);
  best.offer(0.5, model);
  equal.offer(0.5, model);
  const Tensor second = weight.clone();
  weight.add_(1);
  best.restore(model);
  EXPECT_TENSOR_EQ(weight, first);
  EXPECT_EQ(best.accuracy(), 0.9);
  equal.restore(model);
  EXPECT_TENSOR_EQ(weight, second);
}

TEST(Sgd, MatchesHandComputedNesterovSteps) {
  // By hand: g = 1 + 0.1 * 2 = 1.2; v = 1.2; step = 1.2 + 0.9 * 1.2 = 2.28; then g = 1 + 0.1 * 1.772.
  Tensor p = torch::full({1}, 2.0).requires_grad_();
  Sgd sgd({{{{"p", p}}, 0.1}}, {0.9, 0.1, true});
  p.mutable_grad() = torch::ones({1});
  sgd.step(1);
  EXPECT_NEAR(p.item<double>(), 2 - 0.228, 1e-6);
  sgd.zero_gradients();
  EXPECT_FALSE(p.grad().defined());
  p.mutable_grad() = torch::ones({1});
  sgd.step(0.5);
  const double g = 1 + 0.1 * 1.772;
  const double v = 0.9 * 1.2 + g;
  EXPECT_NEAR(p.item<double>(), 1.772 - 0.05 * (g + 0.9 * v), 1e-6);
}

TEST(Sampler, DrawsEverySampleOnceAndDropsBatchesOfOne) {
  Sampler sampler(torch::arange(9), 4, Random(1));
  std::vector<int64_t> seen(9);
  for (int i = 0; i < 2; ++i) {
    const Tensor batch = sampler.next();
    EXPECT_EQ(batch.size(0), 4);
    for (int64_t k = 0; k < 4; ++k) ++seen[batch[k].item<int64_t>()];
  }
  EXPECT_THAT(seen, ::testing::Each(::testing::Le(1)));
  EXPECT_TRUE(sampler.exhausted()) << "the ninth sample would be a batch of one";
  EXPECT_EQ(sampler.next().size(0), 4);
}

TEST(Sampler, DropsARemainderBelowTheMinimum) {
  Sampler sampler(torch::arange(11), 4, Random(1), 4);
  EXPECT_EQ(sampler.next().size(0), 4);
  EXPECT_EQ(sampler.next().size(0), 4);
  EXPECT_TRUE(sampler.exhausted()) << "three are left";
  Sampler small(torch::arange(3), 8, Random(1), 4);
  EXPECT_EQ(small.next().size(0), 3) << "a smaller set is one batch";
}

TEST(Sampler, KeepsAPartialBatchOfTwo) {
  Sampler sampler(torch::arange(6), 4, Random(1));
  EXPECT_EQ(sampler.next().size(0), 4);
  EXPECT_EQ(sampler.next().size(0), 2);
  EXPECT_TRUE(sampler.exhausted());
}

TEST(Batches, AreChannelsLastFloatsOfThePixels) {
  const ImageSet images = test::noise_pictures(5);
  const DeviceImages device(images, torch::kCPU);
  const Tensor batch = device.gather(test::indices({3, 1}));
  EXPECT_TRUE(batch.is_contiguous(at::MemoryFormat::ChannelsLast));
  EXPECT_NEAR(batch[0][2][4][7].item<double>(), images.picture(3)[(4 * 32 + 7) * 3 + 2] / 255.0, 1e-7);
  const Tensor normal = normalise(batch, {});
  EXPECT_TENSOR_NEAR(normal, (batch - 0.5) / 0.5, 1e-6);
  Normalisation colour{{0.1, 0.2, 0.3}, {1, 2, 4}};
  EXPECT_NEAR(normalise(batch, colour)[0][2][0][0].item<double>(), (batch[0][2][0][0].item<double>() - 0.3) / 4, 1e-6);
}

TEST(Views, AreSharedBySourcesOfEqualNormalisation) {
  Ensemble ensemble = test::small_ensemble({"lenet", "dtn"});
  ModelInfo other = test::small_info();
  other.normalisation.mean = {0, 0, 0};
  ensemble.sources.emplace_back(other, Random(1));
  const std::vector<Tensor> x = views(torch::rand({2, 3, 32, 32}), ensemble.sources);
  EXPECT_TRUE(x[0].is_same(x[1]));
  EXPECT_FALSE(x[0].is_same(x[2]));
}

TEST(Sgd, StepDoesNotDependOnTheDeviceOfTheRate) {
  for (const double momentum : {0.0, 0.9}) {
    for (const bool nesterov : {false, true}) {
      SgdOptions options;
      options.momentum = momentum;
      options.nesterov = nesterov;
      const auto trained = [&](auto factor) {
        const NamedTensors parameters = {{"a", test::normals({4, 3}, 1).requires_grad_()},
                                         {"b", test::normals({5}, 2).requires_grad_()}};
        Sgd optimiser({{parameters, 0.1}}, options);
        for (uint64_t step = 0; step < 3; ++step) {
          for (const NamedTensor& parameter : parameters)
            parameter.value.mutable_grad() = test::normals(parameter.value.sizes(), 10 + step);
          optimiser.step(factor);
        }
        return at::cat({parameters[0].value.detach().view(-1), parameters[1].value.detach()});
      };
      EXPECT_TENSOR_NEAR(trained(torch::tensor(0.5f)), trained(0.5), 1e-6);
    }
  }
}

Tensor augmented(const ImageSet& set, const Augmentation& augmentation, uint64_t seed = 1) {
  return DeviceImages(set, torch::kCPU).augmented(torch::arange(set.size()), augmentation, Random(seed));
}

TEST(Augmentation, OffKeepsPictures) {
  const ImageSet set = test::noise_pictures(3);
  const DeviceImages images(set, torch::kCPU);
  EXPECT_TENSOR_EQ(augmented(set, resolve_defaults({}, fresh_info("", "dtn", {}), true)), images.rows(0, 3));
}

TEST(Augmentation, PhotographsAreFlippedAndInAdaptationSometimesGrey) {
  const Augmentation source = resolve_defaults({}, fresh_info("", "resnet50", {}), false);
  EXPECT_EQ(source.flip, 0.5);
  EXPECT_EQ(source.grey, 0);
  EXPECT_EQ(resolve_defaults({}, fresh_info("", "resnet50", {}), true).grey, 0.1);
  EXPECT_EQ(resolve_defaults({}, fresh_info("", "lenet", {}), true).flip, 0);
  Augmentation chosen;
  chosen.flip = 0;
  EXPECT_EQ(resolve_defaults(chosen, fresh_info("", "resnet50", {}), true).flip, 0);
}

TEST(Augmentation, SmallPicturesAreNotMirroredWhateverTheNetwork) {
  // TorchScript does not say what its pictures show; mirrored digits cost accuracy.
  for (const char* network : {"torchscript", "resnet18"}) {
    ModelInfo info = fresh_info("", network, {});
    for (const auto level : {AugmentationLevel::kStandard, AugmentationLevel::kStrong}) {
      Augmentation chosen;
      chosen.level = level;
      info.preprocessing = {64, 64};
      EXPECT_EQ(resolve_defaults(chosen, info, true).flip, 0) << network;
      EXPECT_EQ(resolve_defaults(chosen, info, true).grey, 0) << network;
      info.preprocessing = {96, 110};
      EXPECT_EQ(resolve_defaults(chosen, info, true).flip, 0.5) << network;
      chosen.flip = 0.25;
      info.preprocessing = {28, 28};
      EXPECT_EQ(resolve_defaults(chosen, info, true).flip, 0.25) << network;
    }
  }
}

TEST(Augmentation, CropsRandomlyInTrainingAndCentrallyInEvaluation) {
  // Red encodes the row, green the column.
  ImageSet set;
  set.height = set.width = 40;
  set.crop = 33;
  set.names.assign(60, "x");
  for (int i = 0; i < 60; ++i)
    for (int y = 0; y < 40; ++y)
      for (int x = 0; x < 40; ++x)
        for (const int value : {y, x, i}) set.pixels.push_back(static_cast<uint8_t>(value));
  const DeviceImages images(set, torch::kCPU);
  const Tensor middle = (images.rows(0, 1) * 255).round();
  EXPECT_EQ(middle.sizes(), torch::IntArrayRef({1, 3, 33, 33}));
  EXPECT_EQ(middle[0][0][0][0].item<float>(), 4);  // (40 - 33) / 2 is rounded to even, as in Python
  Augmentation flip;
  flip.flip = 0.5;
  flip.grey = 0;
  const Tensor crops = (augmented(set, flip) * 255).round();
  std::set<int> tops, lefts;
  int mirrored = 0;
  for (int64_t i = 0; i < 60; ++i) {
    const auto at = [&](int c, int y, int x) { return crops[i][c][y][x].item<int>(); };
    EXPECT_EQ(at(2, 5, 5), i);
    EXPECT_EQ(at(0, 32, 7) - at(0, 0, 7), 32);
    EXPECT_EQ(std::abs(at(1, 3, 32) - at(1, 3, 0)), 32);
    mirrored += at(1, 3, 32) < at(1, 3, 0);
    tops.insert(at(0, 0, 0));
    lefts.insert(std::min(at(1, 0, 0), at(1, 0, 32)));
  }
  EXPECT_EQ(tops, (std::set<int>{0, 1, 2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(lefts, tops);
  EXPECT_GT(mirrored, 15);
  EXPECT_LT(mirrored, 45);
}

TEST(Augmentation, FlipsShiftsAndGreys) {
  const ImageSet set = test::noise_pictures(4);
  const Tensor x = DeviceImages(set, torch::kCPU).rows(0, 4);
  Augmentation flip = resolve_defaults({}, fresh_info("", "dtn", {}), false);
  flip.flip = 1;
  EXPECT_TENSOR_EQ(augmented(set, flip), x.flip({3}));
  Augmentation grey = resolve_defaults({}, fresh_info("", "dtn", {}), false);
  grey.grey = 1;
  const Tensor luma = 0.299 * x.select(1, 0) + 0.587 * x.select(1, 1) + 0.114 * x.select(1, 2);
  EXPECT_TENSOR_NEAR(augmented(set, grey).select(1, 2), luma, 1e-5);
  Augmentation shift = resolve_defaults({}, fresh_info("", "dtn", {}), false);
  shift.shift = 2;
  EXPECT_GT(test::distance(augmented(set, shift), x), 0);
  EXPECT_TENSOR_EQ(augmented(set, shift, 7), augmented(set, shift, 7));
}

TEST(Batches, DoNotDependOnTheStorage) {
  ImageSet set = test::noise_pictures(23);
  set.crop = 28;
  const DeviceImages resident(set, torch::kCPU), brought(test::streamed(set), torch::kCPU);
  EXPECT_TRUE(resident.resident());
  EXPECT_FALSE(brought.resident());
  const Tensor index = test::indices({7, 0, 22});
  EXPECT_TENSOR_EQ(brought.gather(index), resident.gather(index));
  Augmentation changes;
  changes.flip = changes.grey = 0.5;
  EXPECT_TENSOR_EQ(brought.augmented(index, changes, Random(1)), resident.augmented(index, changes, Random(1)));
  SequentialBatches one(resident, 10), two(brought, 10);
  for (const int64_t size : {10, 10, 3}) {
    const Tensor batch = two.next();
    EXPECT_EQ(batch.size(0), size);
    EXPECT_TENSOR_EQ(batch, one.next());
  }
  EXPECT_TRUE(one.done() && two.done());
}

TEST(Batches, CountTheTimeWaitedForThem) {
  const ImageSet set = test::noise_pictures(5);
  ImageSet slow = test::streamed(set);
  slow.read = [read = slow.read](int64_t index, uint8_t* to) {
    const Stopwatch watch;
    while (watch.seconds() == 0) {
    }
    read(index, to);
  };
  const DeviceImages resident(set, torch::kCPU), brought(slow, torch::kCPU);
  SequentialBatches one(resident, 3), two(brought, 3);
  const Stopwatch watch;
  while (!one.done()) one.next();
  while (!two.done()) two.next();
  EXPECT_EQ(one.waited(), 0);
  EXPECT_GT(two.waited(), 0);
  EXPECT_LE(two.waited(), watch.seconds());
}

TEST(Split, RoundsTheTrainingShareDownAndLosesNoSample) {
  const LabelledImages data = make_digits(DigitDomain::kHandwriting, 25, 1);
  const Split split = split_for_validation(data, 0.9, false, 3);
  EXPECT_EQ(split.training.images.size(), 22);
  EXPECT_EQ(split.validation.images.size(), 3);
  std::set<std::string> names(split.training.images.names.begin(), split.training.images.names.end());
  names.insert(split.validation.images.names.begin(), split.validation.images.names.end());
  EXPECT_EQ(names.size(), 25u);
  EXPECT_EQ(split_for_validation(data, 0.9, true, 3).training.images.size(), 25);
}

TEST(SourceTraining, LearnsAndIsBitwiseReproducible) {
  const LabelledImages training = make_digits(DigitDomain::kHandwriting, 300, 1);
  const LabelledImages validation = make_digits(DigitDomain::kHandwriting, 200, 2);
  SourceTrainingOptions options;
  options.epochs = 10;
  const auto trained = [&](KeptIterate keep) {
    options.keep = keep;
    SourceModel model(test::small_info(), Random(1));
    const double accuracy = train_source(model, training, validation, options, 5);
    const DeviceImages images(validation.images, torch::kCPU);
    EXPECT_NEAR(accuracy_of(evaluate(model, images).logits, torch::tensor(validation.labels.values)), accuracy, 1e-9);
    return std::pair(accuracy, copy_of(model.state()));
  };
  const auto [best, first] = trained(KeptIterate::kBest);
  const auto [again, second] = trained(KeptIterate::kBest);
  const auto [last, ignored] = trained(KeptIterate::kLast);
  EXPECT_GT(best, 0.7);
  EXPECT_GE(best, last);
  for (size_t i = 0; i < first.size(); ++i) EXPECT_TRUE(torch::equal(first[i].value, second[i].value)) << first[i].name;
}

TEST(SourceTraining, StoresTheCalibrationOfTheResult) {
  const LabelledImages training = make_digits(DigitDomain::kHandwriting, 60, 1);
  SourceTrainingOptions options;
  options.epochs = 2;
  const auto calibration_with = [&](int64_t pictures, KeptIterate keep) {
    options.keep = keep;
    const LabelledImages validation = make_digits(DigitDomain::kHandwriting, pictures, 2);
    SourceModel model(test::small_info(), Random(1));
    const double accuracy = train_source(model, training, validation, options, 5);
    const Tensor label = torch::tensor(validation.labels.values);
    const Tensor logits = evaluate(model, DeviceImages(validation.images, torch::kCPU)).logits;
    EXPECT_NEAR(accuracy, accuracy_of(logits, label), 1e-9);
    const Calibration calibration = model.info().calibration.value();
    const Tensor odd = torch::arange(1, pictures, 2);
    const bool split = calibration.split == "odd";
    EXPECT_NEAR(calibration.accuracy,
                split ? accuracy_of(logits.index_select(0, odd), label.index_select(0, odd)) : accuracy, 1e-9);
    return calibration;
  };
  EXPECT_EQ(calibration_with(399, KeptIterate::kBest).count, 399);
  EXPECT_EQ(calibration_with(400, KeptIterate::kBest).count, 200) << "the even pictures chose the iterate";
  EXPECT_EQ(calibration_with(400, KeptIterate::kLast).count, 400);
}

TEST(SourceTraining, WorksOnFewerStepsThanIntervals) {
  // The validation interval is never zero; a batch of one is never trained on.
  const LabelledImages data = make_digits(DigitDomain::kHandwriting, 5, 1);
  SourceTrainingOptions options;
  options.epochs = 1;
  options.batch = 4;
  SourceModel model(test::small_info(), Random(1));
  int64_t steps = 0;
  train_source(model, data, data, options, 1, [&](const SourceTrainingProgress& at) { steps = at.steps; });
  EXPECT_EQ(steps, 1);
}

TEST(Metrics, CountRightPredictions) {
  const Tensor scores = torch::tensor({0.9f, 0.1f, 0.2f, 0.8f, 0.7f, 0.3f}).view({3, 2});
  const Labels truth{{"a", "b"}, {0, 1, 1}};
  EXPECT_NEAR(accuracy_of(scores, torch::tensor(truth.values)), 2.0 / 3, 1e-9);
  const Confusion confusion = confusion_of(scores, truth);
  EXPECT_EQ(dense(confusion), (std::vector<std::vector<int64_t>>{{1, 0}, {1, 1}}));
  EXPECT_EQ(class_sizes(confusion), (std::vector<int64_t>{1, 2}));
  EXPECT_EQ(class_accuracies(confusion), (std::vector<double>{1, 0.5}));
}

TEST(SourceTrainingOptions, CheckpointIsAnAliasOfKeep) {
  OptionTable table;
  SourceTrainingOptions options;
  declare(table, options);
  table.read_toml_text("[train]\ncheckpoint = \"last\"\n", "old.toml");
  table.apply_toml();
  EXPECT_EQ(options.keep, KeptIterate::kLast);
}

}  // namespace
}  // namespace tributary
