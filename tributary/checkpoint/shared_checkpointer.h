// Checkpointer of work that several ranks do together.
//
// All of them take one at the same place; the first rank writes it, and hands what it finds to the others. A snapshot
// says nothing of the ranks, so any number of them goes on from it.
#pragma once

#include <optional>

#include "tributary/checkpoint/checkpointer.h"
#include "tributary/comm/consensus.h"

namespace tributary {

class SharedCheckpointer : public Checkpointer {
 public:
  // `folder` is the first rank's; null on the others. `options` are equal on all.
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

// What the first rank knows, on all of them; `own` counts there only.
std::string agreed_text(Communicator& comm, const std::string& own);

}  // namespace tributary
