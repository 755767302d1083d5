// Detects ranks that died, hang or failed, so that the others exit with a message instead of waiting for ever.
//
// Every rank has a thread that writes a heartbeat into the c10d store and reads those of the others. A rank is lost if
// it sent no heartbeat for `patience` seconds, or for less if a collective has failed, which happens at once when a
// process is killed. Rank 0 hosts the store: a rank that gets no answer from it has lost rank 0. If a peer hangs
// mid-request, rank 0 also exits, but it cannot tell which peer it was. A live process that makes no progress is caught
// by the timeout of the collectives (process_group.h).
//
// The main thread learns of a lost rank as a LostPeer exception from check(). If it does not call check(), because it
// is blocked in a collective, a watchdog thread prints the message and exits the process. Saved checkpoints remain.
#pragma once

#include <torch/csrc/distributed/c10d/Store.hpp>

#include <memory>
#include <string>
#include <thread>

#include "tributary/base/error.h"
#include "tributary/launch/rank_info.h"

namespace tributary {

// Another rank was lost or failed. The program exits with `exit_code_for_lost_peer` (launcher.h).
class LostPeer : public WorkError {
 public:
  LostPeer(const std::string& message, bool quiet) : WorkError(message), quiet_(quiet) {}
  // Whether another rank prints the message.
  bool quiet() const { return quiet_; }

 private:
  bool quiet_;
};

class Heartbeat {
 public:
  // `store` is a connection of its own, not used by other threads.
  Heartbeat(const RankInfo& rank_info, double patience, c10::intrusive_ptr<c10d::Store> store);
  ~Heartbeat();
  Heartbeat(const Heartbeat&) = delete;
  Heartbeat& operator=(const Heartbeat&) = delete;

  // Sets the advice at the end of the message about a lost rank.
  void advise(std::string advice);

  // Announces a regular exit of this rank. Rank 0, which hosts the store, waits until the others have exited, too.
  void leave();
  // Announces that this rank exits with an error; the others then exit at once.
  void fail(const std::string& message);

  // Throws a LostPeer if the loss or failure of another rank is known now or becomes known within `seconds`.
  void check(double seconds = 0);

 private:
  struct State;
  std::shared_ptr<State> state_;  // shared with the threads, which outlive this object if the store does not answer
  std::thread beat_, watchdog_;
};

}  // namespace tributary
