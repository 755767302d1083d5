// Checkpoints of several ranks.
#include "tributary/checkpoint/shared_checkpointer.h"

#include <nlohmann/json.hpp>

#include "tests/support/temp_dir.h"
#include "tests/support/tensors.h"
#include "tests/support/thread_ranks.h"

namespace tributary {
namespace {

TEST(SharedCheckpointer, OtherRanksGetAllButTheStateOfTheFirstRanksObservers) {
  const test::TempDir folder;
  const Tensor weights = test::normals({3, 2}, 1), sum = test::normals({4}, 2);
  {
    CheckpointFolder own(folder / "kept", {});
    own.keep([&] {
      Checkpoint checkpoint;
      checkpoint.facts()["round"] = 2;
      checkpoint.add(kOfFirstRank, {{"sum", sum}});
      checkpoint.tensors.push_back({"weights", weights});
      return checkpoint;
    });
  }
  test::run_ranks(3, [&](Communicator& comm) {
    std::optional<CheckpointFolder> own;
    if (comm.first()) own.emplace(folder / "kept", CheckpointOptions{});
    SharedCheckpointer checkpointer(comm, own ? &*own : nullptr, {});
    const Checkpoint* const found = checkpointer.resume_point();
    ASSERT_NE(found, nullptr);
    EXPECT_EQ(found->integer("round"), 2);
    EXPECT_TENSOR_EQ(found->at("weights"), weights);
    EXPECT_EQ(found->find("observer.sum") != nullptr, comm.first());
  });
}

}  // namespace
}  // namespace tributary
