#include "tributary/experiments/job_admission.h"

#include <algorithm>
#include <utility>

#include "tributary/base/error.h"

namespace tributary {

JobAdmission::JobAdmission(int parallel, std::optional<int64_t> capacity, KnownPeaks known)
    : parallel_(parallel), capacity_(capacity), peaks_(std::move(known)) {}

// Whether a job fits beside the running ones, of which there is at least one.
bool JobAdmission::fits(const std::string& kind) const {
  if (!capacity_) return true;
  if (!knows(kind)) return false;
  auto sum = static_cast<double>(peaks_.at(kind));
  for (const std::string& other : running_) {
    if (!knows(other)) return false;
    sum += static_cast<double>(peaks_.at(other));
  }
  return kMargin * sum <= static_cast<double>(*capacity_);
}

std::optional<size_t> JobAdmission::next(const std::vector<std::string>& waiting) const {
  if (waiting.empty() || static_cast<int>(running_.size()) >= parallel_) return std::nullopt;
  if (running_.empty()) {
    for (size_t i = 0; capacity_ && i < waiting.size(); ++i)
      if (!knows(waiting[i])) return i;
    return 0;
  }
  for (size_t i = 0; i < waiting.size(); ++i)
    if (fits(waiting[i])) return i;
  return std::nullopt;
}

void JobAdmission::start(const std::string& kind) {
  running_.push_back(kind);
}

void JobAdmission::finish(const std::string& kind) {
  const auto job = std::find(running_.begin(), running_.end(), kind);
  TRIBUTARY_CHECK(job != running_.end(), "no job of kind {} is running", kind);
  running_.erase(job);
}

void JobAdmission::report(const std::string& kind, int64_t peak) {
  if (peak <= 0) return;
  int64_t& known = peaks_[kind];
  known = std::max(known, peak);
}

}  // namespace tributary
