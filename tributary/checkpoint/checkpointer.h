// Where long work keeps its snapshots, and goes on from.
//
// Work calls `pass` between its steps: a snapshot is taken when it is time for one, or when a signal asks the program
// to stop (base/interrupt.h). Whatever takes long and changes nothing, such as an evaluation, runs within `during`, so
// that it can be broken off.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "tributary/base/folder_lock.h"
#include "tributary/base/interrupt.h"
#include "tributary/base/options.h"
#include "tributary/checkpoint/checkpoint.h"

namespace tributary {

// Keeps nothing: for work that cannot be interrupted, or is short.
class Checkpointer {
 public:
  using Take = std::function<Checkpoint()>;
  virtual ~Checkpointer() = default;

  // Where interrupted work left off; null where it begins.
  virtual const Checkpoint* found() { return nullptr; }
  // Between two steps. Throws `Interrupted` once a signal came, when the state is kept.
  virtual void pass(const Take&) { check_interrupt(); }
  virtual void keep(const Take&) {}
  // What to tell a user whose work was interrupted.
  virtual std::string interrupted_message() const { return "interrupted"; }

  // Does `work`, which changes nothing of what `take` takes, so that it can be broken off and done again.
  template <typename Work>
  auto during(const Take& take, Work work) {
    try {
      return work();
    } catch (const Interrupted& interrupted) {
      keep(take);
      throw Interrupted(interrupted.signal(), interrupted_message());
    }
  }
};

struct CheckpointOptions {
  double every = 120;    // seconds from one to the next; 0: after every step
  bool restart = false;  // forgets what there is
};
// Both are transient: they do not make a run another one.
void declare(OptionTable& table, CheckpointOptions& options);

// In a folder of their own, two files that are written by turns: while one is written the other is whole, and is what
// counts if that comes to nothing.
class CheckpointFolder : public Checkpointer {
 public:
  // What others add to every snapshot.
  using Complete = std::function<void(Checkpoint&)>;

  CheckpointFolder(std::string folder, const CheckpointOptions& options);
  // Removes what a killed process left behind half-written, and everything if the work starts over. The folder must not
  // be in use by another process.
  void clean() const;

  // The latest that is whole; a WorkError where there are some and none is.
  const Checkpoint* found() override;
  void pass(const Take& take) override;
  void keep(const Take& take) override;
  std::string interrupted_message() const override;
  // Whether it is time for the next. An error where the machine's memory is about to end.
  bool due();
  // Looks anew at what there is, after work that was given up.
  void rescan();
  void on_save(Complete complete) { complete_ = std::move(complete); }

  // When the work is done.
  void remove() const;

 private:
  using Clock = std::chrono::steady_clock;
  std::string file(int slot) const;

  std::string folder_;
  CheckpointOptions options_;
  Complete complete_;
  bool looked_ = false;
  std::optional<Checkpoint> found_;
  int64_t number_ = 0;  // of the latest
  int next_slot_ = 0;
  Clock::time_point due_, next_look_;  // for the next snapshot, and at the memory that is left
};

// The snapshots of work whose result is one file, in the folder FILE.checkpoint beside it while the work goes on, for
// one process at a time.
class FileCheckpoints {
 public:
  // `config` says what work it is: an InputError shows how that of an interrupted one differs.
  FileCheckpoints(const std::string& file, const Configuration& config, const CheckpointOptions& options);
  // Leaves no folder where nothing was kept.
  ~FileCheckpoints();
  FileCheckpoints(const FileCheckpoints&) = delete;
  FileCheckpoints& operator=(const FileCheckpoints&) = delete;

  CheckpointFolder& checkpointer() { return folder_; }
  // When the file is written.
  void finish();

 private:
  std::string path_;
  std::unique_ptr<FolderLock> lock_;
  CheckpointFolder folder_;
};

}  // namespace tributary
