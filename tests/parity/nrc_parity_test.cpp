// NRC's banks, neighbours, losses and gradients against an independent PyTorch script.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tests/support/dump.h"
#include "tests/support/python.h"
#include "tests/support/temp_dir.h"
#include "tests/support/tensors.h"
#include "tributary/methods/nrc/reciprocity.h"

namespace tributary {
namespace {

using test::Dump;

TEST(NrcParity, BanksNeighboursLossesAndGradientsMatch) {
  const auto python = test::python_with("torch");
  if (!python) GTEST_SKIP() << "skipped: no python3-torch";
  constexpr int64_t kPictures = 60, kWidth = 16, kClasses = 7, kSteps = 20;
  const NeighbourSchedule schedule{{3, 2}, {5, 4}, kSteps};
  NeighbourBanks banks(kPictures, kWidth, kClasses, torch::kCPU);
  banks.write(torch::arange(kPictures), test::normals({kPictures, kWidth}, 1),
              (2 * test::normals({kPictures, kClasses}, 2)).softmax(1));
  const Tensor rows = test::indices({7, 59, 0, 23, 41, 12, 33, 50, 4, 18});
  const Tensor phi = 3 * test::normals({rows.size(0), kWidth}, 3);
  const Tensor z = 2 * test::normals({rows.size(0), kClasses}, 4);
  Dump dump;
  dump.add("in.features", banks.features);
  dump.add("in.scores", banks.scores);
  dump.add("in.rows", rows);
  dump.add("in.phi", phi);
  dump.add("in.z", z);
  banks.write(rows, phi, z.softmax(1));
  dump.add("out.features", banks.features);
  dump.add("out.scores", banks.scores);

  nlohmann::json cases = nlohmann::json::array();
  for (const bool paper : {false, true}) {
    for (const int64_t done : {kSteps / 2, kSteps / 2 + 1}) {
      const SelfTerm self = paper ? SelfTerm::kOwnLoss : SelfTerm::kAsNeighbour;
      const std::string name = fmt::format("{}.{}", paper ? "paper" : "code", done);
      cases.push_back({{"name", name}, {"paper", paper}, {"done", done}});
      const Tensor logits = z.clone().requires_grad_();
      const Neighbourhood found =
          find_neighbourhood(banks.features, rows, schedule, torch::tensor(static_cast<float>(done)), self);
      const ReciprocityLosses losses = reciprocity_losses(banks.scores, found, logits.softmax(1), self);
      losses.total().backward();
      const int64_t count = done > kSteps / 2 ? schedule.later.near : schedule.first.near;
      dump.add("out." + name + ".near", found.near.narrow(1, 0, count));
      dump.add("out." + name + ".weights", found.near_weight.narrow(1, 0, count));
      dump.add("out." + name + ".losses", at::stack({losses.near, losses.expanded, losses.diversity, losses.self}));
      dump.add("out." + name + ".slopes", logits.grad());
    }
  }
  test::TempDir folder;
  dump.write(folder / "nrc.safetensors", {{"steps", kSteps}, {"first", {3, 2}}, {"later", {5, 4}}, {"cases", cases}});
  EXPECT_TRUE(test::run_python(*python, "tests/parity/nrc_reference.py", {folder / "nrc.safetensors"}))
      << "see its output above";
}

}  // namespace
}  // namespace tributary
