// Checkpointer of distributed runs.
//
// All ranks take a checkpoint at the same step. Rank 0 writes it, and on resume reads it and broadcasts all of it that
// other ranks need (kOfFirstRank). A
// checkpoint does not depend on the number of ranks, so a run may resume with any number.
#pragma once

#include <optional>

#include "tributary/checkpoint/checkpointer.h"
#include "tributary/comm/consensus.h"

namespace tributary {

class SharedCheckpointer : public Checkpointer {
 public:
  // `folder` is non-null on rank 0 only. `options` must be equal on all ranks.
  SharedCheckpointer(Communicator& comm, CheckpointFolder* folder, const CheckpointOptions& options);

  const Checkpoint* resume_point() override;
  void save_if_due(const Take& take) override;
  void keep(const Take& take) override;
  std::string interrupted_message() const override;

 private:
  Communicator& comm_;
  CheckpointFolder* folder_;
  Consensus consensus_;
  bool looked_ = false;
  std::optional<Checkpoint> received_;
};

// Broadcasts a string from rank 0; `own` is ignored on the other ranks.
std::string broadcast_text(Communicator& comm, const std::string& own);

}  // namespace tributary
