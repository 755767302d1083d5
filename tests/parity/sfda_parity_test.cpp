// SFDA's memory, labels, losses and gradients against an independent PyTorch script (docs/baselines.md, SFDA).
#include <nlohmann/json.hpp>

#include "tests/support/python.h"
#include "tests/support/temp_dir.h"
#include "tests/support/tensors.h"
#include "tributary/io/safetensors.h"
#include "tributary/methods/sfda/prototype_memory.h"

namespace tributary {
namespace {

class SfdaParity : public ::testing::TestWithParam<int64_t> {};

TEST_P(SfdaParity, OneStepMatches) {
  constexpr int64_t kClasses = 6, kPictures = 80, kBatch = 24, kWidth = 32, kSteps = 1000, kDone = 40;
  const int64_t most = GetParam();
  // Clustered features, as from a network; the last class is never predicted.
  const Tensor centres = test::normals({kClasses, kWidth}, 1);
  const auto grouped = [&](int64_t count, double wide, uint64_t seed) {
    const Tensor group = torch::arange(count).remainder(kClasses - 1);
    const Tensor spread = torch::arange(count).remainder(7).unsqueeze(1) * wide;
    return (centres.index_select(0, group) + spread * test::normals({count, kWidth}, seed)).relu();
  };
  const Tensor features = grouped(kPictures, 0.15, 2);
  Tensor logits = features.matmul(centres.t()) * 0.2;
  logits.select(1, kClasses - 1).sub_(10);
  const Tensor batch = grouped(kBatch, 0.5, 3).requires_grad_();
  const Tensor source_head = test::normals({kClasses, kWidth}, 4).mul_(0.3).requires_grad_();
  const Tensor target_head = test::normals({kClasses, kWidth}, 5).mul_(0.3).requires_grad_();
  const Tensor source_labels = torch::arange(kBatch).remainder(kClasses);

  PrototypeMemory memory(kClasses, most, kWidth, torch::kCPU);
  memory.rebuild(features, logits.softmax(1));
  const PrototypeLabels labels = prototype_labels(batch, memory);
  const Tensor trust = memory_trust(torch::full({}, static_cast<float>(kDone)), kSteps);
  const MemoryLosses losses =
      memory_losses(batch.matmul(source_head.t()), source_labels, batch.matmul(target_head.t()), labels, trust);
  losses.total.backward();
  const float believed = labels.confidence.sum().item<float>();
  EXPECT_TRUE(believed > 0 && believed < kBatch) << believed << " confident labels: the data do not test this";

  std::vector<std::pair<std::string, Tensor>> dumped = {
      {"in.features", features},
      {"in.logits", logits},
      {"in.batch", batch},
      {"in.source_head", source_head},
      {"in.target_head", target_head},
      {"in.source_labels", source_labels},
      {"memory", memory.rows.narrow(1, 0, memory.count.item<int64_t>())},
      {"similarity", labels.similarity},
      {"label", labels.label},
      {"farthest", labels.farthest},
      {"nearest", labels.nearest},
      {"confidence", labels.confidence},
      {"trust", trust},
      {"loss.source", losses.source},
      {"loss.target", losses.target},
      {"loss.total", losses.total},
      {"gradient.batch", batch.grad()},
      {"gradient.source_head", source_head.grad()},
      {"gradient.target_head", target_head.grad()},
  };
  std::vector<TensorEntry> entries;
  for (auto& [name, tensor] : dumped) {
    tensor = tensor.detach().contiguous();
    const DType type = tensor.scalar_type() == torch::kInt64 ? DType::I64 : DType::F32;
    entries.push_back(
        {name, type, tensor.sizes().vec(), {static_cast<const uint8_t*>(tensor.data_ptr()), tensor.nbytes()}});
  }
  test::TempDir folder;
  const nlohmann::json config = {{"most", most}, {"steps", kSteps}, {"done", kDone}};
  write_safetensors(folder / "sfda.safetensors", entries, {{"config", config.dump()}});
  const auto python = test::python_with("torch");
  if (!python) GTEST_SKIP() << "skipped: no python3-torch";
  EXPECT_TRUE(test::run_python(*python, "tests/parity/sfda_reference.py", {folder / "sfda.safetensors"}))
      << "see its output above";
}

INSTANTIATE_TEST_SUITE_P(MostPrototypes, SfdaParity, ::testing::Values(3, 100));

}  // namespace
}  // namespace tributary
