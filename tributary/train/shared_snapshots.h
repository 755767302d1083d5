// Snapshots of work that several ranks do together.
//
// All of them take one at the same place; the first rank writes it, and hands what it finds to the others. A snapshot
// says nothing of the ranks, so any number of them goes on from it.
#pragma once

#include <optional>

#include "tributary/scale/pace.h"
#include "tributary/train/snapshots.h"

namespace tributary {

class SharedSnapshots : public Snapshots {
 public:
  // `folder` is the first rank's; null on the others. `options` are equal on all.
  SharedSnapshots(Ranks& ranks, SnapshotFolder* folder, const SnapshotOptions& options);

  const Snapshot* found() override;
  void pass(const Take& take) override;
  void keep(const Take& take) override;
  std::string farewell() const override;

 private:
  Ranks& ranks_;
  SnapshotFolder* folder_;
  Pace pace_;
  bool looked_ = false;
  std::optional<Snapshot> received_;
};

// What the first rank knows, on all of them; `own` counts there only.
std::string agreed_text(Ranks& ranks, const std::string& own);

}  // namespace tributary
