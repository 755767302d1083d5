// Sources that are only predictions: their part in weights, labels and mixture, and the student that learns from them.
#include "tributary/methods/selective/student.h"

#include <gmock/gmock.h>

#include "tests/support/methods.h"
#include "tests/support/models.h"
#include "tests/support/temp_dir.h"
#include "tests/support/tensors.h"
#include "tests/support/thread_ranks.h"
#include "tributary/base/error.h"
#include "tributary/checkpoint/shared_checkpointer.h"
#include "tributary/data/digits/digits.h"
#include "tributary/methods/selective/selective.h"
#include "tributary/methods/selective/target_state.h"
#include "tributary/train/evaluate.h"

namespace tributary {
namespace {

constexpr int64_t kStudentPictures = 120;

LabelledImages student_digits() {
  return make_digits(DigitDomain::kHandwriting, kStudentPictures, 5);
}

// Logits that put the true class first, but for every fifth picture from the `wrong`th on.
FixedSource fixed_source(const std::string& name, const Labels& truth, int64_t wrong) {
  FixedSource source;
  source.name = name;
  source.scores.path = name + ".csv";
  source.classes = numbered_classes(10);
  const auto n = static_cast<int64_t>(truth.values.size());
  source.logits = torch::full({n, 10}, -4.0);
  for (int64_t i = 0; i < n; ++i)
    source.logits[i][i % 5 == wrong ? (truth.values[static_cast<size_t>(i)] + 1 + wrong) % 10
                                    : truth.values[static_cast<size_t>(i)]] = 0;
  return source;
}

Ensemble ensemble_with_sites(const std::vector<std::string>& models, const Labels& truth, bool student) {
  Ensemble ensemble = test::small_ensemble(models);
  ensemble.has_student = student;
  for (int64_t wrong = 0; wrong < 3; ++wrong)
    ensemble.fixed.push_back(fixed_source(fmt::format("site-{}", wrong), truth, wrong));
  return ensemble;
}

SelectiveOptions student_run_options() {
  SelectiveOptions options;
  apply_variant(options, Variant::kTributary);
  options.rounds = 2;
  options.batch = 16;
  options.leave_dominated = false;
  options.aggregation.steps = 200;
  options.augmentation.level = AugmentationLevel::kStandard;
  options.student_epochs = 6;
  return options;
}

struct StudentRecorder : test::Recorder {
  int64_t student_steps = 0;
  void on_step(const StepEvent& event) override { student_steps += event.round == 0 ? 1 : 0; }
};

double share_of_right(const Tensor& probabilities, const Labels& truth) {
  return (probabilities.argmax(1).cpu() == torch::tensor(truth.values)).to(torch::kFloat64).mean().item<double>();
}

TEST(FixedSources, KeepTheirShareOfTheWeightsOutOfTheDeployedMixture) {
  const Tensor weights = torch::tensor({1.0f, 3.0f, 2.0f, 2.0f});
  EXPECT_TRUE(torch::equal(leading_weights(weights, 2), torch::tensor({2.0f, 6.0f}))) << "scaled to the sum of all, 8";
  const Tensor none = torch::tensor({0.0f, 0.0f, 4.0f});
  EXPECT_TRUE(torch::equal(leading_weights(none, 2), torch::tensor({2.0f, 2.0f}))) << "equal without a share";
}

TEST(FixedSources, AreCompletedLikeLogitsOfModels) {
  Ensemble ensemble = test::small_ensemble({"lenet"}, 3);
  FixedSource fixed;
  fixed.logits = torch::tensor({{1.0f, 2.0f, 0.0f}});
  fixed.known = torch::tensor({true, true, false});
  ensemble.fixed.push_back(fixed);
  const Tensor own = torch::tensor({{0.5f, 0.0f, 3.0f}});
  const Tensor all = ensemble.with_fixed({own});
  EXPECT_TRUE(torch::allclose(
      all, complete_logits(at::stack({own, fixed.logits}), torch::tensor({{true, true, true}, {true, true, false}}))));
  EXPECT_GT(all[1][0][2].item<double>(), 2) << "the model is sure of class 2";
  EXPECT_TRUE(torch::equal(ensemble.stacked({own})[0], own)) << "nothing to complete without the fixed source";
}

TEST(FixedSources, TakePartInLabelsButNotInTheResult) {
  const LabelledImages data = student_digits();
  Ensemble ensemble = ensemble_with_sites({"lenet"}, data.labels, /*student=*/false);
  StudentRecorder recorder;
  SelectiveSelfTraining(student_run_options()).adapt(ensemble, data.images, recorder);
  ASSERT_EQ(recorder.rounds.size(), 3u);
  const RoundEvent& last = recorder.rounds.back();
  EXPECT_EQ(recorder.student_steps, 0);
  EXPECT_EQ(last.logits.size(0), 4);
  EXPECT_EQ(last.weights.size(0), 4);
  EXPECT_EQ(last.features.size(), 1u) << "fixed sources have none";
  EXPECT_EQ(ensemble.mixture.weights.size(0), 1);
  EXPECT_GT(share_of_right(last.score, data.labels), 0.9) << "three sites that err on different pictures";
  // What is reported is what the deployed model predicts.
  const Tensor deployed = combine(evaluate_logits(ensemble, DeviceImages(data.images, torch::kCPU)), ensemble.mixture);
  EXPECT_TRUE(torch::allclose(deployed, last.probabilities, 1e-4, 1e-5));
}

TEST(Student, LearnsFromScoresAlone) {
  const LabelledImages data = student_digits();
  Ensemble ensemble = ensemble_with_sites({"lenet"}, data.labels, /*student=*/true);
  StudentRecorder recorder;
  SelectiveSelfTraining(student_run_options()).adapt(ensemble, data.images, recorder);
  EXPECT_EQ(recorder.student_steps, 6 * 8) << "epochs times batches";
  ASSERT_EQ(recorder.rounds.size(), 3u);
  EXPECT_GT(share_of_right(recorder.rounds.back().probabilities, data.labels), 0.6);
  EXPECT_EQ(ensemble.without_student(recorder.rounds.front().logits).size(0), 3) << "witnesses";
}

TEST(Student, TrainsAllOfItsPartsAndFreezesThemAgain) {
  const LabelledImages data = student_digits();
  SourceModel student(test::small_info("lenet"), Random(1));
  for (NamedTensor& parameter : student.classifier_parameters()) parameter.value.set_requires_grad(false);
  const NamedTensors before = copy_of(student.state());
  const Tensor labels = at::one_hot(torch::tensor(data.labels.values), 10).to(torch::kFloat32);
  const DeviceImages images(data.images, torch::kCPU);
  {
    const SelectiveOptions options = student_run_options();
    StudentTask task(student, labels, options);
    EXPECT_EQ(task.steps(), 6 * 8);
    TrainingLoop loop(task, images, task.loop_options());
    Checkpointer none;
    loop.start(task.steps());
    loop.run(2, none, [] { return Checkpoint(); });
  }
  for (size_t i = 0; i < before.size(); ++i)
    if (student.state()[i].value.is_floating_point()) {
      EXPECT_FALSE(torch::equal(before[i].value, student.state()[i].value)) << before[i].name;
    }
  for (const NamedTensor& parameter : student.classifier_parameters()) EXPECT_FALSE(parameter.value.requires_grad());
}

TEST(Student, RanksGiveTheResultOfOneProcess) {
  const LabelledImages data = student_digits();
  SelectiveOptions options = student_run_options();
  options.rate_backbone = options.rate_bottleneck = 3e-4;  // amplifies rounding less
  Ensemble alone = ensemble_with_sites({"lenet"}, data.labels, /*student=*/true);
  StudentRecorder expected;
  SelectiveSelfTraining(options).adapt(alone, data.images, expected);
  test::run_ranks(2, [&](Communicator& comm) {
    Ensemble ensemble = ensemble_with_sites({"lenet"}, data.labels, /*student=*/true);
    ensemble.shard(comm, Sharding::By::kRows);
    SharedCheckpointer checkpointer(comm, nullptr, {});
    StudentRecorder recorder;
    SelectiveSelfTraining(options).adapt(ensemble, data.images, recorder, checkpointer);
    ASSERT_EQ(recorder.rounds.size(), expected.rounds.size());
    // Before the rounds: in these, rounding may change who is selected (ranks_test.cpp has trained sources for them).
    EXPECT_TRUE(torch::allclose(recorder.rounds[0].probabilities, expected.rounds[0].probabilities, 1e-3, 1e-3));
  });
}

TEST(FixedSources, RefuseLabelsOfSingleSources) {
  const LabelledImages data = student_digits();
  Ensemble ensemble = ensemble_with_sites({"lenet"}, data.labels, /*student=*/false);
  SelectiveOptions options = student_run_options();
  options.cross_labels = true;
  StudentRecorder recorder;
  EXPECT_THAT(
      test::message_of<InputError>([&] { SelectiveSelfTraining(options).adapt(ensemble, data.images, recorder); }),
      ::testing::HasSubstr("--cross-labels needs models, but of site-0.csv there are only scores"));
}

}  // namespace
}  // namespace tributary
