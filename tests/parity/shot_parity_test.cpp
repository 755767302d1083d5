// SHOT's whole training and the source ensemble against an independent PyTorch script (docs/baselines.md, SHOT).
//
// The methods run unmodified, so that their defaults are compared, too: learning rates, their decay, momentum, weight
// decay, and when labels are updated. The script gets the pictures, the sources before the first step, and the random
// draws of every step.
#include <nlohmann/json.hpp>
#include <optional>

#include "tests/support/dump.h"
#include "tests/support/methods.h"
#include "tests/support/models.h"
#include "tests/support/python.h"
#include "tests/support/temp_dir.h"
#include "tributary/data/digits/digits.h"
#include "tributary/methods/baselines.h"
#include "tributary/methods/shot/centroids.h"
#include "tributary/train/evaluate.h"
#include "tributary/train/sampler.h"

namespace tributary {
namespace {

using test::Dump;

// Two rounds, each with a full batch and a smaller one.
constexpr int64_t kTargetPictures = 20, kBatchSize = 12, kRounds = 2, kSteps = 4;
constexpr uint64_t kSeed = 3;

// Confident sources with the statistics of another domain, and with so few features that the appended one matters.
// Otherwise other labelling rules and ensembles would often agree.
Ensemble foreign_sources() {
  Ensemble ensemble;
  const ImageSet pictures = make_digits(DigitDomain::kHandwriting, 64, 1).images;
  const DeviceImages images(pictures, torch::kCPU);
  torch::NoGradGuard no_grad;
  DropoutStream quiet = DropoutStream::quiet(torch::kCPU);
  for (const uint64_t seed : {1, 2}) {
    SourceModel& source = ensemble.sources.emplace_back(test::small_info("lenet", 10, /*width=*/8), Random(seed));
    for (const NamedTensor& parameter : source.classifier_parameters())
      if (parameter.name == "classifier.weight_g") parameter.value.detach().mul_(4);
    const Tensor x = normalise(images.rows(0, images.size()), source.info().normalisation);
    for (int pass = 0; pass < 30; ++pass) source.features(x, &quiet);
  }
  return ensemble;
}

// The rows and the masks of every step, from the keys that training uses (methods/learner.cpp).
void dump_draws(Dump& dump, const Ensemble& ensemble) {
  for (uint64_t j = 0; j < ensemble.sources.size(); ++j) {
    Sampler sampler(torch::arange(kTargetPictures), kBatchSize, Random(kSeed, Purpose::kShuffle, {j}));
    for (uint64_t step = 1; step <= kSteps; ++step) {
      const Tensor rows = sampler.next();
      DropoutStream dropout_stream(Random(kSeed, Purpose::kDropout, {j, step}).child(0), torch::kCPU);
      SourceModel copy(ensemble.sources[j].info(), Random(0));
      copy.features(torch::zeros({rows.size(0), 3, 32, 32}), &dropout_stream);
      dump.add(fmt::format("draw.{}.{}.rows", j, step), rows);
      dump.add(fmt::format("draw.{}.{}.mask.", j, step), dropout_stream.drawn());
    }
  }
}

// Records the results of every step and round.
class Writer : public Observer {
 public:
  Writer(Dump& dump, Ensemble& ensemble, const DeviceImages& images)
      : dump_(dump), ensemble_(ensemble), images_(images) {}

  void on_step(const StepEvent& event) override {
    const int64_t own = event.steps / ensemble_.size();  // the sources take their rounds in turn
    const int64_t source = (event.step - 1) / own, step = (event.round - 1) * own + (event.step - 1) % own + 1;
    dump_.add(fmt::format("step.{}.{}.", source, step), ensemble_.sources[static_cast<size_t>(source)].state());
  }

  void on_round(const RoundEvent& event) override {
    const std::string at = fmt::format("round.{}.", event.round);
    const std::vector<Outputs> outputs = evaluate(ensemble_.sources, images_);
    for (size_t j = 0; j < outputs.size(); ++j) {
      const std::string name = at + std::to_string(j);
      dump_.add(name + ".features", outputs[j].features);
      dump_.add(name + ".logits", event.logits[static_cast<int64_t>(j)]);
      dump_.add(name + ".labels",
                centroid_labels(with_one_normalised(outputs[j].features), outputs[j].logits.softmax(1)));
    }
    dump_.add(at + "probabilities", event.probabilities);
    for (const auto& [loss, means] : event.means) dump_.add(at + "loss." + loss, torch::tensor(means, torch::kFloat64));
  }

 private:
  Dump& dump_;
  Ensemble& ensemble_;
  const DeviceImages& images_;
};

// The options that are set; the others are the method's defaults.
struct ShotNumbers {
  std::string name;
  std::optional<double> beta, rate_backbone, rate_bottleneck;
  friend void PrintTo(const ShotNumbers& numbers, std::ostream* out) { *out << numbers.name; }
};

nlohmann::json json_of(const std::optional<double>& number) {
  return number ? nlohmann::json(*number) : nlohmann::json();
}

std::unique_ptr<Method> shot(MethodOptions common, const ShotNumbers& numbers) {
  common.rate_backbone = numbers.rate_backbone.value_or(0);
  common.rate_bottleneck = numbers.rate_bottleneck.value_or(0);
  return test::configured(shot_method(), numbers.beta ? fmt::format("shot_beta = {:.3f}", *numbers.beta) : "", common);
}

class ShotParity : public ::testing::TestWithParam<ShotNumbers> {};

TEST_P(ShotParity, LabelsLossesStepsAndEnsembleMatch) {
  const auto python = test::python_with("torch");
  if (!python) GTEST_SKIP() << "skipped: no python3-torch";
  const ShotNumbers& numbers = GetParam();
  Ensemble ensemble = foreign_sources();
  const ImageSet pictures = make_digits(DigitDomain::kTextured, kTargetPictures, 17).images;
  const DeviceImages images(pictures, torch::kCPU);
  MethodOptions common;
  common.seed = kSeed;
  common.epochs = kRounds;
  common.batch = kBatchSize;

  Dump dump;
  dump.add("pixels", images.rows(0, kTargetPictures));
  for (size_t j = 0; j < ensemble.sources.size(); ++j)
    dump.add(fmt::format("before.{}.", j), ensemble.sources[j].state());
  dump_draws(dump, ensemble);
  test::Recorder unadapted;
  source_ensemble_method().make(common)->adapt(ensemble, pictures, unadapted);
  dump.add("ensemble", unadapted.rounds.front().probabilities);
  Writer writer(dump, ensemble, images);
  shot(common, numbers)->adapt(ensemble, pictures, writer);

  const SourceModel& source = ensemble.sources.front();
  const test::TempDir folder;
  dump.write(
      folder / "shot.safetensors",
      {{"source", {{"architecture", "lenet"}, {"feature_width", source.info().feature_width}}},
       {"sources", ensemble.size()},
       {"classes", 10},
       {"rounds", kRounds},
       {"steps", kSteps},
       {"beta", json_of(numbers.beta)},
       {"rates", {{"backbone", json_of(numbers.rate_backbone)}, {"bottleneck", json_of(numbers.rate_bottleneck)}}}});
  EXPECT_TRUE(test::run_python(*python, "tests/parity/shot_reference.py", {folder / "shot.safetensors"}))
      << "see its output above";
}

// Large and different rates, so that a wrong update shows in the weights; and the method's defaults.
INSTANTIATE_TEST_SUITE_P(Numbers, ShotParity,
                         ::testing::Values(ShotNumbers{"WithLabels", 0.3, 0.05, 0.2},
                                           ShotNumbers{"InformationAlone", 0.0, 0.05, 0.2},
                                           ShotNumbers{"ItsOwn", {}, {}, {}}),
                         ::testing::PrintToStringParamName());

}  // namespace
}  // namespace tributary
