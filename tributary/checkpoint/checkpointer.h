// Saves checkpoints during long computations and finds them on resume.
//
// Training loops call `save_if_due` between steps. It saves a checkpoint when one is due or when a signal asks the
// program to stop (base/interrupt.h). Long computations that change no state, such as an evaluation, run within
// `interruptible`, so that they can be interrupted at any point.
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

// The base class saves nothing: for computations that are short or cannot be resumed.
class Checkpointer {
 public:
  using Take = std::function<Checkpoint()>;
  virtual ~Checkpointer() = default;

  // The checkpoint to resume from; null for a fresh start.
  virtual const Checkpoint* resume_point() { return nullptr; }
  // Call between two steps. After a signal, saves a checkpoint and throws `Interrupted`.
  virtual void save_if_due(const Take&) { check_interrupt(); }
  // Saves a checkpoint now.
  virtual void keep(const Take&) {}
  // The message for the user after an interruption.
  virtual std::string interrupted_message() const { return "interrupted"; }

  // Runs `work`, which must not change the state that `take` returns. If interrupted, saves that state and rethrows.
  template <typename Work>
  auto interruptible(const Take& take, Work work) {
    try {
      return work();
    } catch (const Interrupted& interrupted) {
      keep(take);
      throw Interrupted(interrupted.signal(), interrupted_message());
    }
  }
};

struct CheckpointOptions {
  double every = 120;                                   // seconds between checkpoints; 0: after every step
  bool restart = false;                                 // ignore existing checkpoints
  std::function<void(const std::string&)> notice = {};  // is told of a damaged checkpoint that is not used
};
// Both options are transient: a run may be resumed with other values.
void declare(OptionTable& table, CheckpointOptions& options);

// Checkpoints in a folder. Two files are written alternately, so that one stays valid if writing the other fails.
class CheckpointFolder : public Checkpointer {
 public:
  // Callback that adds to every checkpoint before it is written.
  using Complete = std::function<void(Checkpoint&)>;

  CheckpointFolder(std::string folder, const CheckpointOptions& options);
  // Removes temporary files of a killed process, and all checkpoints if `restart` is set. No other process may use the
  // folder.
  void clean() const;

  // The latest valid checkpoint, null if there is none. Throws a WorkError if all existing checkpoints are damaged.
  const Checkpoint* resume_point() override;
  void save_if_due(const Take& take) override;
  void keep(const Take& take) override;
  std::string interrupted_message() const override;
  // Whether the next checkpoint is due. Throws if the machine is about to run out of memory.
  bool due();
  // Forgets the loaded checkpoint and the restart option, so that found() reads the folder again: for a retry within
  // the same process.
  void rescan();
  void on_save(Complete complete) { complete_ = std::move(complete); }

  // Deletes the folder and its checkpoints, after the run has finished.
  void remove() const;

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr const char* kMemoryName = "gpu-memory.json";  // see run/source_training_run.h
  std::string file(int slot) const;

  std::string folder_;
  CheckpointOptions options_;
  Complete complete_;
  bool looked_ = false;
  std::optional<Checkpoint> found_;
  int64_t number_ = 0;  // of the latest checkpoint
  int next_slot_ = 0;
  Clock::time_point due_;         // time of the next checkpoint
  Clock::time_point next_check_;  // time of the next check of available memory
};

// Checkpoints of a command whose result is one file, in the folder FILE.checkpoint, which exists and is locked while
// the command runs.
class FileCheckpoints {
 public:
  // `config` identifies the run. Throws an InputError with the differences if FILE.checkpoint has another config.
  FileCheckpoints(const std::string& file, const Configuration& config, const CheckpointOptions& options);
  // Removes the folder if it is empty.
  ~FileCheckpoints();
  FileCheckpoints(const FileCheckpoints&) = delete;
  FileCheckpoints& operator=(const FileCheckpoints&) = delete;

  CheckpointFolder& checkpointer() { return folder_; }
  // Deletes the checkpoints; call after FILE is written.
  void finish();

 private:
  std::string path_;
  std::unique_ptr<FolderLock> lock_;
  CheckpointFolder folder_;
};

}  // namespace tributary
