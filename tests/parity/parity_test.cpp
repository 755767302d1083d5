// One training step and one round against an independent PyTorch script. All inputs and outputs are written to a file,
// and the script recomputes the outputs from the equations in docs/method.md.
#include <nlohmann/json.hpp>

#include "tests/support/dump.h"
#include "tests/support/models.h"
#include "tests/support/python.h"
#include "tests/support/temp_dir.h"
#include "tests/support/tensors.h"
#include "tributary/data/digits/digits.h"
#include "tributary/methods/selective/selective.h"
#include "tributary/methods/selective/selective_step.h"
#include "tributary/methods/selective/target_state.h"
#include "tributary/train/evaluate.h"
#include "tributary/train/schedule.h"

namespace tributary {
namespace {

using test::Dump;

nlohmann::json described(const Ensemble& ensemble) {
  nlohmann::json sources = nlohmann::json::array();
  for (const SourceModel& source : ensemble.sources)
    sources.push_back({{"architecture", source.info().architecture}, {"feature_width", source.info().feature_width}});
  return sources;
}

// The masks that a pass of the step will draw, read from a copy of the source.
void dump_masks(Dump& dump, const std::string& name, const SourceModel& source, const Tensor& x,
                DropoutStream dropout_stream) {
  SourceModel copy(source.info(), Random(0));
  copy.restore(source.state());
  copy.features(x, &dropout_stream);
  for (size_t i = 0; i < dropout_stream.drawn().size(); ++i)
    dump.add(name + "." + std::to_string(i), dropout_stream.drawn()[i]);
}

void expect_script_agrees(const std::string& script, const std::string& dump) {
  const auto python = test::python_with("torch");
  if (!python) GTEST_SKIP() << "skipped: no python3-torch";
  EXPECT_TRUE(test::run_python(*python, "tests/parity/" + script, {dump})) << "see its output above";
}

class StepParity : public ::testing::TestWithParam<std::vector<std::string>> {};

TEST_P(StepParity, TwoStepsMatch) {
  Ensemble ensemble = test::small_ensemble(GetParam());
  SelectiveOptions options;
  SelectiveStep step(ensemble, options);
  Dump dump;
  const int64_t sources = ensemble.size();
  for (int64_t j = 0; j < sources; ++j) dump.add(fmt::format("before.source.{}.", j), ensemble.sources[j].state());
  dump.add("before.adversary.", step.adversary().parameters());
  for (uint64_t s = 0; s < 2; ++s) {
    const std::string at = fmt::format("step.{}.", s);
    StepBatch batch;
    const auto pictures = [&](int64_t count, uint64_t seed) {
      return test::normals({count, 3, 32, 32}, seed + 10 * s).contiguous(at::MemoryFormat::ChannelsLast);
    };
    batch.confident.assign(sources, pictures(6, 1));
    batch.unconfident.assign(sources, pictures(5, 2));
    batch.label = test::indices({1, 0, 9, 3, 3, 7});
    batch.mixing = {torch::tensor(s == 0 ? 0.3f : 0.85f), test::indices({5, 3, 0, 1, 2, 4})};
    const double factor = decay_factor(static_cast<int64_t>(s) + 1, 10);
    const Random stream(99 + s);
    const Tensor mixed = mix(batch.confident[0], batch.mixing);
    for (int64_t j = 0; j < sources; ++j) {
      const std::string name = fmt::format("{}mask.{}.", at, j);
      const SourceModel& source = ensemble.sources[j];
      const auto dropout_stream = [&](StepPass pass) {
        return DropoutStream(pass_stream(stream, j, pass), torch::kCPU);
      };
      dump_masks(dump, name + "mix", source, mixed, dropout_stream(StepPass::kMixed));
      dump_masks(dump, name + "l", source, batch.confident[j], dropout_stream(StepPass::kConfident));
      dump_masks(dump, name + "u", source, batch.unconfident[j], dropout_stream(StepPass::kUnconfident));
    }
    dump.add(at + "x_l", batch.confident[0]);
    dump.add(at + "x_u", batch.unconfident[0]);
    dump.add(at + "y", batch.label);
    dump.add(at + "perm", batch.mixing.permutation);
    dump.add(at + "lambda", batch.mixing.ratio);
    dump.add(at + "lr_backbone", 1e-2 * factor);
    dump.add(at + "lr_bottleneck", 1e-2 * factor);

    const StepLosses losses = step.accumulate(batch, stream);
    for (int64_t j = 0; j < sources; ++j) {
      dump.add(fmt::format("{}loss.ce.{}", at, j), losses[j]);
      dump.add(fmt::format("{}loss.im.{}", at, j), losses[sources + j]);
      for (const NamedTensors& part :
           {ensemble.sources[j].backbone_parameters(), ensemble.sources[j].bottleneck_parameters()})
        for (const NamedTensor& parameter : part)
          dump.add(fmt::format("{}grad.source.{}.{}", at, j, parameter.name), parameter.value.grad());
    }
    dump.add(at + "loss.adversarial", losses[2 * sources]);
    dump.add(at + "loss.discriminator", losses[2 * sources + 1]);
    step.update(factor);
    for (int64_t j = 0; j < sources; ++j)
      dump.add(fmt::format("{}after.source.{}.", at, j), ensemble.sources[j].state());
    dump.add(at + "after.adversary.", step.adversary().parameters());
  }
  test::TempDir folder;
  dump.write(folder / "step.safetensors", {{"sources", described(ensemble)},
                                           {"classes", 10},
                                           {"lambda_ce", options.lambda_ce},
                                           {"lambda_im", options.lambda_im},
                                           {"lambda_adv", options.lambda_adv},
                                           {"momentum", options.sgd.momentum},
                                           {"weight_decay", options.sgd.weight_decay},
                                           {"discriminator_lr", options.alignment.rate},
                                           {"steps", 2}});
  expect_script_agrees("step.py", folder / "step.safetensors");
}

INSTANTIATE_TEST_SUITE_P(Ensembles, StepParity,
                         ::testing::Values(std::vector<std::string>{"lenet", "dtn"}, std::vector<std::string>{"dtn"},
                                           std::vector<std::string>{"lenet", "lenet", "lenet"}));

TEST(RoundParity, WeightsPrototypesScoresAndSelectionMatch) {
  Ensemble ensemble = test::small_ensemble({"lenet", "dtn", "lenet"});
  const LabelledImages digits = make_digits(DigitDomain::kSigns, 120, 4);
  const DeviceImages images(digits.images, torch::kCPU);
  SelectiveOptions options;
  options.rounds = 5;
  Dump dump;
  dump.add("x", normalise(images.rows(0, images.size()), {}));
  const TargetState first = first_state(ensemble, images, options);
  const auto [confidence, pseudo_label] = first.score.max(-1);
  const int64_t initial = initial_count(confidence, options.lambda_alpha, options.threshold);
  const Selection chosen = select_for_round(first, initial, 1, options);
  const TargetState later = next_state(ensemble, images, chosen, memory_of(first, ensemble, options), options);
  const Selection next = select_for_round(later, initial, 2, options);
  for (int64_t j = 0; j < ensemble.size(); ++j) {
    dump.add(fmt::format("source.{}.", j), ensemble.sources[j].state());
    dump.add(fmt::format("first.phi.{}", j), first.features[j]);
    dump.add(fmt::format("first.z.{}", j), first.logits[j]);
    dump.add(fmt::format("first.q.{}", j), first.posteriors[j]);
    dump.add(fmt::format("later.q.{}", j), later.posteriors[j]);
  }
  dump.add("first.weights", first.weights);
  dump.add("first.score", first.score);
  dump.add("first.pseudo_label", pseudo_label);
  dump.add("first.confidence", confidence);
  dump.add("first.initial_count", torch::tensor(initial));
  dump.add("first.confident", chosen.confident);
  dump.add("first.unconfident", chosen.unconfident);
  dump.add("later.weights", later.weights);
  dump.add("later.score", later.score);
  dump.add("later.pseudo_label", later.score.argmax(-1));
  dump.add("later.confident", next.confident);
  dump.add("later.unconfident", next.unconfident);
  test::TempDir folder;
  dump.write(folder / "round.safetensors", {{"sources", described(ensemble)},
                                            {"classes", 10},
                                            {"weight_steps", options.aggregation.steps},
                                            {"weight_lr", options.aggregation.rate},
                                            {"lambda_alpha", options.lambda_alpha},
                                            {"rounds", options.rounds},
                                            {"epsilon", 1e-5}});
  expect_script_agrees("round.py", folder / "round.safetensors");
}

}  // namespace
}  // namespace tributary
