// AaD's banks, neighbours, losses and slopes against an independent PyTorch script.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tests/support/dump.h"
#include "tests/support/python.h"
#include "tests/support/temp_dir.h"
#include "tests/support/tensors.h"
#include "tributary/methods/aad/dispersion.h"
#include "tributary/methods/nrc/reciprocity.h"

namespace tributary {
namespace {

using test::Dump;

TEST(AadParity, BanksNeighboursLossesAndSlopesAgreeInBothHalvesAndBothForms) {
  const auto python = test::python_with("torch");
  if (!python) GTEST_SKIP() << "skipped: no python3-torch";
  constexpr int64_t kPictures = 60, kWidth = 16, kClasses = 7, kSteps = 20, kFirst = 3, kLater = 2;
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

  constexpr double kAlpha = 1.5, kBeta = 0.75;
  nlohmann::json cases = nlohmann::json::array();
  for (const bool one_sided : {false, true}) {
    for (const int64_t done : {int64_t{0}, kSteps / 2, kSteps / 2 + 1}) {
      const std::string name = fmt::format("{}.{}", one_sided ? "one" : "both", done);
      cases.push_back({{"name", name}, {"one_sided", one_sided}, {"done", done}});
      const Tensor logits = z.clone().requires_grad_(), progress = torch::tensor(static_cast<float>(done));
      const Tensor near = nearest_rows(banks.features, rows, kFirst);
      const Tensor count = count_now(progress, kSteps, kFirst, kLater);
      const Tensor counted = (torch::arange(kFirst) < count).to(torch::kFloat32);
      const Tensor scores = banks.scores.index_select(0, near.view({-1})).view({rows.size(0), kFirst, kClasses});
      const Tensor pull = attraction(logits.softmax(1), scores, counted);
      const Tensor push = dispersion(logits.softmax(1), one_sided);
      const Tensor lambda = dispersion_weight(progress, kSteps, kAlpha, kBeta);
      (pull + lambda * push).backward();
      dump.add("out." + name + ".near", near.narrow(1, 0, count.item<int64_t>()));
      dump.add("out." + name + ".losses", at::stack({pull, push, lambda}));
      dump.add("out." + name + ".slopes", logits.grad());
    }
  }
  test::TempDir folder;
  dump.write(
      folder / "aad.safetensors",
      {{"steps", kSteps}, {"first", kFirst}, {"later", kLater}, {"alpha", kAlpha}, {"beta", kBeta}, {"cases", cases}});
  EXPECT_TRUE(test::run_python(*python, "tests/parity/aad_reference.py", {folder / "aad.safetensors"}))
      << "its output above says what differs";
}

}  // namespace
}  // namespace tributary
