#include "tributary/comm/consensus.h"

#include <algorithm>

#include "tributary/base/interrupt.h"

namespace tributary {

std::optional<Consensus::Decision> Consensus::ask(const std::function<bool()>& wish) {
  ++calls_;
  if (--left_ > 0) return std::nullopt;
  constexpr int64_t kInterval = 500'000;  // microseconds
  constexpr int64_t kMaxCalls = 1000;
  const Clock::time_point now = Clock::now();
  const int64_t per_call = std::chrono::duration_cast<std::chrono::microseconds>(now - last_).count() / calls_;
  const bool wanted = comm_.first() && wish();
  const Tensor all = comm_.all_gather(torch::tensor({int64_t{interrupt_signal()}, int64_t{wanted}, per_call})).cpu();
  const auto votes = all.accessor<int64_t, 2>();
  left_ = always_ ? 1 : std::clamp<int64_t>(kInterval / std::max<int64_t>(1, votes[0][2]), 1, kMaxCalls);
  calls_ = 0;
  last_ = Clock::now();
  return Decision{static_cast<int>(all.select(1, 0).max().item<int64_t>()), votes[0][1] != 0};
}

void Consensus::check_interrupt() {
  if (const auto decision = ask([] { return false; }); decision && decision->signal != 0)
    throw Interrupted(decision->signal);
}

}  // namespace tributary
