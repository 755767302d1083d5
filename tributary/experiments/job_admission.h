// Decides which jobs may run side by side on one GPU.
//
// Jobs of one kind take the same amount of GPU memory, which is known as soon as one of them has reported its peak. A
// job of unknown size runs alone. Known ones run together as long as their peaks, with a margin, fit into the memory.
// Without a capacity (CPU) only the number of jobs is limited.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace tributary {

// Peak bytes of GPU memory of a job, by its kind.
using KnownPeaks = std::map<std::string, int64_t>;

class JobAdmission {
 public:
  static constexpr double kMargin = 1.1;

  // At most `parallel` jobs at once. `capacity` is the free GPU memory in bytes before the first job.
  explicit JobAdmission(int parallel, std::optional<int64_t> capacity = std::nullopt, KnownPeaks known = {});

  // The index of the job to start next, given the kinds of the waiting jobs in order; nothing if none may start beside
  // the running ones. If no job runs, jobs of unknown size come first, so that the others need not wait for them later.
  std::optional<size_t> next(const std::vector<std::string>& waiting) const;
  void start(const std::string& kind);
  void finish(const std::string& kind);
  // A job of this kind reached `peak` bytes. The largest report counts; 0 or less is ignored.
  void report(const std::string& kind, int64_t peak);

  bool limited() const { return capacity_.has_value(); }
  bool knows(const std::string& kind) const { return peaks_.count(kind) > 0; }
  const KnownPeaks& peaks() const { return peaks_; }

 private:
  bool fits(const std::string& kind) const;

  int parallel_;
  std::optional<int64_t> capacity_;
  KnownPeaks peaks_;
  std::vector<std::string> running_;
};

}  // namespace tributary
