// BAIT's losses, gradients and steps against an independent PyTorch script (docs/baselines.md, BAIT).
#include <nlohmann/json.hpp>

#include "tests/support/dump.h"
#include "tests/support/models.h"
#include "tests/support/python.h"
#include "tests/support/temp_dir.h"
#include "tests/support/tensors.h"
#include "tributary/adapt/information.h"
#include "tributary/methods/bait/bait.h"
#include "tributary/train/device_images.h"

namespace tributary {
namespace {

using test::Dump;

void dump_losses(Dump& dump, const BaitStepOptions& options) {
  for (const std::string name : {"cast", "bite"}) {
    const Tensor anchor = (2 * test::normals({9, 6}, 1)).requires_grad_();
    const Tensor bait = (2 * test::normals({9, 6}, 2)).requires_grad_();
    const Tensor signs = uncertain_signs(entropy(anchor.detach().softmax(1)));
    const Tensor loss = name == "cast"
                            ? cast_loss(head_distances(anchor, bait, options.distance), signs, options.cast_weight)
                            : bite_loss(anchor.softmax(1), bait.softmax(1));
    loss.backward();
    dump.add("loss." + name, loss);
    dump.add("gradient." + name + ".anchor", anchor.grad());
    dump.add("gradient." + name + ".bait", bait.grad());
    if (name == "bite") continue;
    dump.add("logits.anchor", anchor);
    dump.add("logits.bait", bait);
  }
}

// The masks that a pass with `dropout_stream` will draw, read from a copy of the source.
void dump_bait_masks(Dump& dump, const std::string& name, const SourceModel& source, const Tensor& x,
                     DropoutStream dropout_stream) {
  SourceModel copy(source.info(), Random(0));
  copy.restore(source.state());
  copy.features(x, &dropout_stream);
  for (size_t i = 0; i < dropout_stream.drawn().size(); ++i)
    dump.add(name + "." + std::to_string(i), dropout_stream.drawn()[i]);
}

// The form of the distance, and whether the batch is split by an evaluation.
class BaitParity : public ::testing::TestWithParam<std::pair<HeadDistance, bool>> {};

TEST_P(BaitParity, LossesGradientsAndTwoStepsMatch) {
  SourceModel source(test::small_info("lenet"), Random(1));
  // Large and different rates, so that a wrong update shows in the weights.
  const auto [form, split_in_evaluation] = GetParam();
  const BaitStepOptions options{
      form, form == HeadDistance::kCode ? 10.0 : 1.0, 0.02, 0.05, 0.3, false, split_in_evaluation};
  BaitStep step(source, options);
  // Equal heads would be a special case: in the paper's form they have no gradient.
  for (const NamedTensor& parameter : step.bait().parameters())
    parameter.value.detach().add_(test::normals(parameter.value.sizes(), 7), 0.05);
  Dump dump;
  dump_losses(dump, options);
  dump.add("before.source.", source.state());
  dump.add("before.bait.", step.bait().parameters());
  for (uint64_t s = 0; s < 2; ++s) {
    const std::string at = fmt::format("step.{}.", s);
    const Tensor pixels = test::normals({7, 3, 32, 32}, 20 + s).sigmoid().contiguous(at::MemoryFormat::ChannelsLast);
    const Tensor x = normalise(pixels, source.info().normalisation);
    dump.add(at + "x", x);
    DropoutStream first(Random(30 + s), torch::kCPU), second(Random(40 + s), torch::kCPU);
    dump_bait_masks(dump, at + "mask.cast", source, x, first);
    dump_bait_masks(dump, at + "mask.bite", source, x, second);
    dump.add(at + "loss.cast", step.cast(pixels, first, torch::ones({})));
    dump.add(at + "loss.bite", step.bite(pixels, second, torch::ones({})));
    dump.add(at + "source.", source.state());
    dump.add(at + "bait.", step.bait().parameters());
  }
  const test::TempDir folder;
  dump.write(
      folder / "bait.safetensors",
      {{"source", {{"architecture", "lenet"}, {"feature_width", source.info().feature_width}}},
       {"classes", 10},
       {"form", form == HeadDistance::kCode ? "code" : "paper"},
       {"split_in_evaluation", split_in_evaluation},
       {"cast_weight", options.cast_weight},
       {"rates",
        {{"backbone", options.rate_backbone}, {"bottleneck", options.rate_bottleneck}, {"bait", options.rate_bait}}},
       {"steps", 2}});
  const auto python = test::python_with("torch");
  if (!python) GTEST_SKIP() << "skipped: no python3-torch";
  EXPECT_TRUE(test::run_python(*python, "tests/parity/bait_reference.py", {folder / "bait.safetensors"}))
      << "see its output above";
}

INSTANTIATE_TEST_SUITE_P(Distances, BaitParity,
                         ::testing::Values(std::pair(HeadDistance::kCode, false),
                                           std::pair(HeadDistance::kPaper, false),
                                           std::pair(HeadDistance::kCode, true)));

}  // namespace
}  // namespace tributary
