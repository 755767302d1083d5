// Notices a rank that died, hangs or failed, so that the others end with a sentence instead of waiting for ever.
//
// Every rank has a thread that keeps a connection to rank 0 and gives a sign of life on it; rank 0 hears them all and
// passes on what becomes of anyone. A killed process is noticed at once, because the system closes its connection; one
// that is stopped, or whose machine is gone, when there was no sign for `patience` seconds. Work that stands still in a
// living process is a matter of the collectives' own time limit (world.h).
//
// The thread names the rank in one sentence and gives the main thread a moment to end the work with it. Where that is
// stuck waiting for the lost one, the thread ends the process itself: what was kept before stands.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "tributary/base/error.h"
#include "tributary/scale/place.h"
#include "tributary/scale/sockets.h"

namespace tributary {

// The work ends because another rank did. The program ends with `exit_code_for_lost_peer` (launch.h).
class LostPeer : public WorkError {
 public:
  LostPeer(const std::string& sentence, bool quiet) : WorkError(sentence), quiet_(quiet) {}
  // Another process with the same error output says the sentence.
  bool quiet() const { return quiet_; }

 private:
  bool quiet_;
};

class Watch {
 public:
  // Rank 0 passes its own text and gets it back; all others pass nothing and get that of rank 0.
  using Agree = std::function<std::string(const std::string& own)>;

  // Returns when all ranks are connected; a LostPeer where one of them does not come within `patience` seconds.
  Watch(const Place& place, double patience, const Agree& agree);
  ~Watch();
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  // What the sentence about a lost rank tells the reader to do.
  void advise(std::string advice);

  // Says that this rank ends in good order. Rank 0 waits a moment for the others to do so, too.
  void leave();
  // Says that this rank ends with an error; the others end at once.
  void fail(const std::string& message);

  // Throws what became of another rank, if that is known now or within `seconds`.
  void check(double seconds = 0);

 private:
  using Clock = std::chrono::steady_clock;
  struct Peer {
    Descriptor socket;
    std::string host, unread;
    Clock::time_point seen;
    bool gone = false;
  };
  struct Verdict {
    std::string sentence;
    bool quiet = false;
  };

  void run();
  void meet_strangers();
  void hear(int64_t rank, Peer& peer);
  void take(int64_t rank, const std::string& line);
  void judge();
  void decide(int64_t rank, const std::string& kind, const std::string& text);
  void tell(const std::string& line, int64_t except = -1);
  void call_the_roll();
  void end_process_unless_heard(std::unique_lock<std::mutex>& lock);

  const Place place_;
  const Clock::duration patience_, beat_;
  std::string token_;  // what a connection must know to be one of us
  std::string advice_ = "what was kept before it stands, and the same command goes on from there";
  Listener listener_;              // of rank 0
  std::vector<Peer> strangers_;    // connected to rank 0, but have not said who they are
  std::map<int64_t, Peer> peers_;  // rank 0: all others; all others: rank 0
  Descriptor wake_;
  bool complete_ = false, leaving_ = false, heard_ = false;
  std::optional<int64_t> left_;  // ended in good order
  std::optional<Verdict> verdict_;
  std::mutex mutex_;  // over all of the above
  std::condition_variable changed_;
  std::thread thread_;
};

}  // namespace tributary
