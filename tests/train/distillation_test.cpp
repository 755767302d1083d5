// Distillation (docs/method.md, Distillation): labels, losses, frozen teachers, rates and the fixed point.
#include "tributary/train/distillation.h"

#include "tests/support/models.h"
#include "tests/support/tensors.h"
#include "tributary/data/digits/digits.h"
#include "tributary/eval/metrics.h"
#include "tributary/train/evaluate.h"
#include "tributary/train/schedule.h"
#include "tributary/train/source_training.h"

namespace tributary {
namespace {

Tensor mixed(double first, double second) {
  const Tensor logits = torch::tensor({{{2.0f, 0.0f}}, {{0.0f, 4.0f}}});  // [m = 2, n = 1, K = 2]
  return combine(logits, {Combination::kWeightedLogits, torch::tensor({first, second}).to(torch::kFloat32)});
}

TEST(DistillationLabels, AreTheArgmaxOfTheMixture) {
  EXPECT_TENSOR_NEAR(mixed(0.6, 0.4)[0], torch::tensor({1.2, 1.6}).softmax(0), 1e-6);
  EXPECT_EQ(mixed(0.6, 0.4).argmax(-1).item<int64_t>(), 1);
  EXPECT_TENSOR_NEAR(mixed(0.7, 0.3)[0], torch::tensor({1.4, 1.2}).softmax(0), 1e-6);
  EXPECT_EQ(mixed(0.7, 0.3).argmax(-1).item<int64_t>(), 0);
}

TEST(DistillationLoss, MatchesKnownValues) {
  for (const double first : {0.6, 0.7})  // the second class, the first
    EXPECT_NEAR(hard_distillation_loss(torch::zeros({1, 2}), mixed(first, 1 - first)).item<double>(), 0.693147, 1e-6);
  const Tensor logits = torch::zeros({1, 2}).requires_grad_();
  const Tensor loss = soft_distillation_loss(logits, torch::full({1, 2}, 0.5), 1);
  EXPECT_NEAR(loss.item<double>(), 0.693147, 1e-6);
  loss.backward();
  EXPECT_TENSOR_EQ(logits.grad(), torch::zeros({1, 2}));
}

TEST(DistillationLoss, SoftLabelsEqualHardOnesIfTheMixtureIsCertain) {
  const Tensor logits = test::normals({6, 4}, 1);
  const Tensor certain = (1e4 * at::one_hot(test::indices({0, 3, 1, 1, 2, 0}), 4)).to(torch::kFloat32).softmax(-1);
  EXPECT_NEAR(soft_distillation_loss(logits, certain, 1).item<double>(),
              hard_distillation_loss(logits, certain).item<double>(), 1e-5);
}

TEST(DistillationLoss, TemperatureFlattensAndScalesBack) {
  const Tensor logits = test::normals({5, 3}, 2), teacher = test::normals({5, 3}, 3).softmax(-1);
  const Tensor q = (teacher.log() / 4).softmax(-1);
  const Tensor expected = -16 * (q * (logits / 4).log_softmax(-1)).sum(-1).mean();
  EXPECT_NEAR(soft_distillation_loss(logits, teacher, 4).item<double>(), expected.item<double>(), 1e-4);
}

TEST(Distillation, FreezesTheTeachersAndTrainsTheWholeStudent) {
  for (const TeacherView view : {TeacherView::kBatch, TeacherView::kTest}) {
    Ensemble teachers = test::small_ensemble({"lenet", "dtn"});
    SourceModel student(test::small_info("lenet"), Random(9));
    std::vector<NamedTensors> before;
    for (const SourceModel& teacher : teachers.sources) before.push_back(copy_of(teacher.state()));
    const NamedTensors fresh = copy_of(student.state());
    DistillationOptions options;
    options.batch = 8;
    options.epochs = 1;
    options.view = view;
    int64_t steps = 0;
    distill(student, teachers, test::noise_pictures(24), options, 1,
            [&](const DistillationProgress& at) { steps = at.steps; });
    EXPECT_EQ(steps, 3);
    for (size_t j = 0; j < before.size(); ++j) {
      const NamedTensors after = teachers.sources[j].state();
      for (size_t i = 0; i < after.size(); ++i)
        EXPECT_TRUE(torch::equal(after[i].value, before[j][i].value)) << after[i].name;
    }
    const NamedTensors trained = student.state();
    for (size_t i = 0; i < trained.size(); ++i)
      EXPECT_FALSE(torch::equal(trained[i].value, fresh[i].value)) << trained[i].name;
  }
}

TEST(Distillation, AllPartsFollowOneSchedule) {
  // A large weight decay at a small rate hides the gradients: every step shrinks a part by 0.1 of its factor.
  Ensemble teachers = test::small_ensemble({"lenet"});
  SourceModel student(test::small_info("dtn"), Random(9));
  DistillationOptions options;
  options.batch = 8;
  options.epochs = 1;
  options.rate = 1e-7;
  options.sgd = {0, 1e6, false};
  const auto parts = [&] {
    NamedTensors all = student.backbone_parameters();
    for (const NamedTensors& part : {student.bottleneck_parameters(), student.classifier_parameters()})
      all.insert(all.end(), part.begin(), part.end());
    return copy_of(all);
  };
  NamedTensors before = parts();
  distill(student, teachers, test::noise_pictures(24), options, 1, [&](const DistillationProgress& at) {
    const NamedTensors now = parts();
    for (size_t i = 0; i < now.size(); ++i)
      EXPECT_TENSOR_NEAR(now[i].value, before[i].value * (1 - 0.1 * decay_factor(at.step, 3)), 2e-6) << now[i].name;
    before = now;
  });
  EXPECT_NEAR(decay_factor(3, 3), 0.165560, 1e-6);
}

TEST(Distillation, ACopyOfTheTeacherHasZeroLoss) {
  const LabelledImages data = make_digits(DigitDomain::kHandwriting, 60, 1);
  Ensemble teacher;
  teacher.sources.emplace_back(test::small_info("lenet"), Random(1));
  SourceTrainingOptions training;
  training.epochs = 15;
  training.label_smoothing = 0;
  train_source(teacher.sources.front(), data, data, training, 1);
  const DeviceImages images(data.images, torch::kCPU);
  // Margins far beyond 20: training determines the direction; we may choose the scale.
  for (const NamedTensor& tensor : teacher.sources.front().classifier_parameters())
    if (!tensor.name.ends_with("weight_v")) tensor.value.detach().mul_(1e4);
  const Tensor logits = evaluate(teacher.sources.front(), images).logits;
  const auto top = std::get<0>(logits.topk(2, -1));
  ASSERT_GT((top.select(1, 0) - top.select(1, 1)).min().item<double>(), 20);
  SourceModel student(test::small_info("lenet"), Random(2));
  student.restore(teacher.sources.front().state());
  const Tensor own = evaluate(student, images).logits, truth = torch::tensor(data.labels.values);
  const Tensor mixture = combine(evaluate_logits(teacher, images), teacher.mixture);
  EXPECT_LT(hard_distillation_loss(own, mixture).item<double>(), 1e-6);
  EXPECT_EQ(accuracy_of(own, truth), accuracy_of(mixture, truth));
}

TEST(Distillation, TeachesDigitsToASmallerNetwork) {
  const LabelledImages data = make_digits(DigitDomain::kHandwriting, 160, 1);
  Ensemble teachers;
  for (const uint64_t seed : {1, 2}) {
    teachers.sources.emplace_back(test::small_info("dtn"), Random(seed));
    SourceTrainingOptions training;
    training.epochs = 4;
    training.batch = 32;
    train_source(teachers.sources.back(), data, data, training, seed);
  }
  SourceModel student(test::small_info("lenet"), Random(9));
  DistillationOptions options;
  options.epochs = 12;
  options.batch = 32;
  distill(student, teachers, data.images, options, 1);
  const DeviceImages images(data.images, torch::kCPU);
  const Tensor taught = combine(evaluate_logits(teachers, images), teachers.mixture).argmax(-1);
  EXPECT_GT(accuracy_of(evaluate(student, images).logits, taught), 0.8);
}

}  // namespace
}  // namespace tributary
