#include "tributary/checkpoint/checkpointer.h"

#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "tributary/base/error.h"
#include "tributary/base/files.h"
#include "tributary/base/memory.h"
#include "tributary/checkpoint/state_checks.h"

namespace tributary {
namespace {

namespace fs = std::filesystem;

constexpr int kSlots = 2;

std::string slot_name(int slot) {
  return fmt::format("{}.safetensors", slot);
}

std::chrono::steady_clock::duration seconds(double count) {
  return std::chrono::duration_cast<std::chrono::steady_clock::duration>(std::chrono::duration<double>(count));
}

}  // namespace

void declare(OptionTable& table, CheckpointOptions& options) {
  const std::string section = "checkpoint";
  table.number(section, "save_every", &options.every, 0, 1e6, "seconds between checkpoints; 0 saves after every step")
      .metavar("SECONDS")
      .transient();
  table.flag(section, "restart", &options.restart, "start over: discard checkpoints and overwrite a finished result")
      .transient()
      .flag_only();
}

CheckpointFolder::CheckpointFolder(std::string folder, const CheckpointOptions& options)
    : folder_(std::move(folder)), options_(options), due_(Clock::now() + seconds(options.every)) {}

std::string CheckpointFolder::file(int slot) const {
  return folder_ + "/" + slot_name(slot);
}

void CheckpointFolder::clean() const {
  remove_leftovers(folder_);
  std::error_code error;
  if (options_.restart)
    for (int slot = 0; slot < kSlots; ++slot) fs::remove(file(slot), error);
}

void CheckpointFolder::remove() const {
  remove_own_files(folder_, [](const std::string& name) {
    bool own = name == kMemoryName || is_temporary_name(name);
    for (int slot = 0; slot < kSlots; ++slot) own |= name == slot_name(slot);
    return own;
  });
}

void CheckpointFolder::rescan() {
  found_.reset();
  looked_ = false;
  options_.restart = false;
}

const Checkpoint* CheckpointFolder::resume_point() {
  if (!std::exchange(looked_, true) && !options_.restart) {
    std::string damage;
    std::error_code error;
    for (int slot = 0; slot < kSlots; ++slot) {
      if (!fs::exists(file(slot), error)) continue;
      try {
        Checkpoint checkpoint = read_checkpoint(file(slot));
        const int64_t number = checkpoint.integer("number");
        if (found_ && number < number_) continue;
        found_ = std::move(checkpoint);
        number_ = number;
        next_slot_ = (slot + 1) % kSlots;
      } catch (const InputError& bad) {
        damage = bad.what();
      }
    }
    if (!found_ && !damage.empty())
      work_error("all checkpoints in {} are damaged ({}); start over with --restart", folder_, damage);
    if (!damage.empty() && options_.notice)
      options_.notice(fmt::format("{}; resuming from the previous checkpoint", damage));
  }
  return found_ ? &*found_ : nullptr;
}

bool CheckpointFolder::due() {
  const Clock::time_point now = Clock::now();
  if (now >= next_check_) {
    next_check_ = now + std::chrono::seconds(1);
    require_memory(available_memory());
  }
  return now >= due_;
}

void CheckpointFolder::save_if_due(const Take& take) {
  const int signal = interrupt_signal();
  if (!due() && signal == 0) return;
  keep(take);
  if (signal != 0) throw Interrupted(signal, interrupted_message());
}

void CheckpointFolder::keep(const Take& take) {
  found_.reset();  // the caller has restored it by now; free its memory
  // A large state takes seconds to write: spend at most a twentieth of the run time on it.
  constexpr double kShare = 20;
  const Clock::time_point start = Clock::now();
  Checkpoint checkpoint = take();
  if (complete_) complete_(checkpoint);
  checkpoint.facts()["number"] = number_ + 1;
  make_folder(folder_);
  write_checkpoint(file(next_slot_), checkpoint);
  ++number_;
  next_slot_ = (next_slot_ + 1) % kSlots;
  const Clock::time_point now = Clock::now();
  const double cost = std::chrono::duration<double>(now - start).count();
  due_ = now + seconds(options_.every > 0 ? std::max(options_.every, kShare * cost) : 0);
}

std::string CheckpointFolder::interrupted_message() const {
  return fmt::format("interrupted; run the same command again to resume from {}", folder_);
}

FileCheckpoints::FileCheckpoints(const std::string& file, const Configuration& config, const CheckpointOptions& options)
    : path_(file + ".checkpoint"), folder_(path_, options) {
  refuse_link(path_);
  refuse_links_below(path_);
  lock_ = std::make_unique<FolderLock>(path_);
  remove_leftovers(fs::absolute(file).parent_path().string());
  folder_.clean();
  folder_.on_save([text = config.text](Checkpoint& checkpoint) { checkpoint.facts()["config"] = text; });
  const Checkpoint* const resume_from = folder_.resume_point();
  if (!resume_from) return;
  const nlohmann::json there = resume_from->facts().value("config", nlohmann::json(""));
  require_in_checkpoint(there.is_string(), "config");
  const auto lines = differences(there.get<std::string>(), config);
  if (!lines.empty())
    input_error("{} belongs to an interrupted run with other options ({}); choose another --out or add --restart",
                path_, fmt::join(lines, "; "));
}

FileCheckpoints::~FileCheckpoints() {
  ::rmdir(path_.c_str());  // fails if it is not empty
}

void FileCheckpoints::finish() {
  folder_.remove();
}

}  // namespace tributary
