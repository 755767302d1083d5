// Notices a rank that died, hangs or failed, so that the others end with a sentence instead of waiting for ever.
//
// Every rank has a thread that writes a sign of life into c10d's store and looks for those of the others. A rank is
// lost when there was none for `patience` seconds; sooner where a collective has failed, which happens at once when a
// process is killed. The store lives in rank 0, and a rank that gets no answer from it has lost rank 0. Rank 0 gets
// none where another one stopped in the midst of a request, and ends, too, though it cannot name that one. Work that
// stands still in a living process is a matter of the collectives' own time limit (world.h).
//
// What became of a rank is told to the main thread as a LostPeer. Where that does not ask, because it waits for the
// lost one, the watch says the sentence and ends the process: what was kept before stands.
#pragma once

#include <torch/csrc/distributed/c10d/Store.hpp>

#include <memory>
#include <string>
#include <thread>

#include "tributary/base/error.h"
#include "tributary/launch/rank_info.h"

namespace tributary {

// The work ends because another rank did. The program ends with `exit_code_for_lost_peer` (launch.h).
class LostPeer : public WorkError {
 public:
  LostPeer(const std::string& sentence, bool quiet) : WorkError(sentence), quiet_(quiet) {}
  // Another rank says the sentence.
  bool quiet() const { return quiet_; }

 private:
  bool quiet_;
};

class Heartbeat {
 public:
  // `store` is a connection that nobody else uses.
  Heartbeat(const RankInfo& rank_info, double patience, c10::intrusive_ptr<c10d::Store> store);
  ~Heartbeat();
  Heartbeat(const Heartbeat&) = delete;
  Heartbeat& operator=(const Heartbeat&) = delete;

  // What the sentence about a lost rank tells the reader to do.
  void advise(std::string advice);

  // Says that this rank ends in good order. Rank 0, which has the store, waits for the others to do so, too.
  void leave();
  // Says that this rank ends with an error; the others end at once.
  void fail(const std::string& message);

  // Throws what became of another rank, if that is known now or within `seconds`.
  void check(double seconds = 0);

 private:
  struct State;
  std::shared_ptr<State> state_;  // with the threads, which may outlive the rest where the store does not answer
  std::thread beat_, guard_;
};

}  // namespace tributary
