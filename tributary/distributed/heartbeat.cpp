#include "tributary/distributed/heartbeat.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>
#include <sstream>
#include <string_view>

#include "tributary/base/message.h"
#include "tributary/base/print.h"
#include "tributary/launch/launcher.h"

namespace tributary {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kShortPatience = std::chrono::seconds(4);  // without a heartbeat, after a collective has failed
constexpr auto kGracePeriod = std::chrono::seconds(2);    // for the main thread to exit by itself
constexpr auto kExitTimeout = std::chrono::seconds(5);    // for the store to take the exit message of this rank
// Exit messages: a regular exit; an exit because of rank NUMBER, followed by what happened to that rank.
constexpr std::string_view kLeft = "left", kAfter = "after ";

std::string key(const char* what, int64_t rank) {
  return fmt::format("tributary/{}/{}", what, rank);
}

void put(c10d::Store& store, const std::string& name, const std::string& text) {
  store.set(name, std::vector<uint8_t>(text.begin(), text.end()));
}

std::string take(c10d::Store& store, const std::string& name) {
  if (!store.check({name})) return "";
  const std::vector<uint8_t> bytes = store.get(name);
  return {bytes.begin(), bytes.end()};
}

std::string own_host() {
  std::array<char, 256> name{};
  gethostname(name.data(), name.size() - 1);
  return name.data();
}

}  // namespace

struct Heartbeat::State {
  struct Peer {
    std::string host;
    int64_t beats = 0;
    Clock::time_point last_beat;
    bool exited = false;
  };
  struct Failure {
    int64_t rank;
    std::string what;     // what happened to the rank, for other ranks
    std::string message;  // for the user
    bool quiet;           // another rank prints the message
  };

  State(const RankInfo& own, double seconds, c10::intrusive_ptr<c10d::Store> connection);
  void beat();
  void watch();
  void check_peer(int64_t rank, Peer& peer, Clock::time_point now);
  void announce_exit(const std::string& how);
  // The following require the mutex.
  void handle_exit_message(int64_t rank, const std::string& text);
  void set_failure(int64_t rank, const std::string& what);
  void handle_silent_store();
  bool all_exited() const;

  const RankInfo rank_info;
  const Clock::duration patience, interval;
  const c10::intrusive_ptr<c10d::Store> store;  // used by the heartbeat thread only
  std::map<int64_t, Peer> peers;
  std::mutex mutex;  // guards everything below, and Peer::exited
  std::condition_variable changed;
  std::string advice = "run the same command again to resume from the last checkpoint";
  std::string exit_message;                     // of this rank; empty while it works
  bool collective_failed = false;               // shortens the patience
  bool reported = false;                        // the main thread knows of the failure
  bool done = false;                            // the heartbeat thread has finished
  bool stopped = false;                         // both threads must finish
  Clock::time_point last_reply = Clock::now();  // of the store
  std::optional<Failure> failure;
};

Heartbeat::State::State(const RankInfo& own, double seconds, c10::intrusive_ptr<c10d::Store> connection)
    : rank_info(own),
      patience(std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds))),
      interval(std::min<Clock::duration>(patience / 10, std::chrono::seconds(1))),
      store(std::move(connection)) {
  for (int64_t rank = 0; rank < rank_info.size; ++rank)
    if (rank != rank_info.rank) peers[rank].last_beat = last_reply;
  put(*store, key("host", rank_info.rank), own_host());
}

// Sends heartbeats until this rank exits; rank 0 continues until all ranks have exited.
void Heartbeat::State::beat() {
  try {
    for (int64_t beats = 1;; ++beats) {
      put(*store, key("alive", rank_info.rank), std::to_string(beats));
      std::string announced;
      {
        const std::lock_guard lock(mutex);
        announced = exit_message;
      }
      if (!announced.empty()) put(*store, key("end", rank_info.rank), announced);
      const Clock::time_point now = Clock::now();
      for (auto& [rank, peer] : peers) check_peer(rank, peer, now);
      std::unique_lock lock(mutex);
      last_reply = Clock::now();
      if (!announced.empty() && (rank_info.rank != 0 || all_exited() || failure || stopped)) break;
      changed.wait_for(lock, interval, [&] { return stopped || exit_message != announced; });
    }
  } catch (const std::exception&) {
    const std::lock_guard lock(mutex);
    if (exit_message.empty() && rank_info.rank != 0) set_failure(0, "is lost (its connection was closed)");
  }
  const std::lock_guard lock(mutex);
  done = true;
  changed.notify_all();
}

void Heartbeat::State::check_peer(int64_t rank, Peer& peer, Clock::time_point now) {
  if (peer.exited) return;
  const std::string beats = take(*store, key("alive", rank)), message = take(*store, key("end", rank));
  if (peer.host.empty()) peer.host = take(*store, key("host", rank));
  const std::lock_guard lock(mutex);
  if (!message.empty()) {
    peer.exited = true;
    if (message != kLeft && exit_message.empty()) handle_exit_message(rank, message);
    return;
  }
  if (const int64_t count = std::atoll(beats.c_str()); count != peer.beats) {
    peer.beats = count;
    peer.last_beat = now;
    return;
  }
  if (peer.beats == 0) return;  // not started yet: the rendezvous has a timeout of its own
  const Clock::duration limit = collective_failed ? std::min<Clock::duration>(patience, kShortPatience) : patience;
  if (now - peer.last_beat < limit) return;
  peer.exited = true;
  if (exit_message.empty())
    set_failure(rank, fmt::format("is lost (no heartbeat for {:.0f} s)",
                                  std::chrono::duration<double>(now - peer.last_beat).count()));
}

// Exits the process if the main thread is blocked and cannot.
void Heartbeat::State::watch() {
  std::unique_lock lock(mutex);
  while (!stopped) {
    changed.wait_for(lock, interval);
    if (Clock::now() - last_reply > patience && exit_message.empty()) handle_silent_store();
    if (!failure || reported || !exit_message.empty()) continue;
    if (changed.wait_for(lock, kGracePeriod, [this] { return reported || stopped || !exit_message.empty(); })) continue;
    if (!failure->quiet) print_message("tributary: " + failure->message);
    _exit(exit_code_for_lost_peer());
  }
}

// A rank that exits because of a lost rank names it, so that all ranks report the lost one and not the messenger.
void Heartbeat::State::handle_exit_message(int64_t rank, const std::string& text) {
  if (!text.starts_with(kAfter)) return set_failure(rank, text);
  std::istringstream words(text.substr(kAfter.size()));
  int64_t lost = -1;
  std::string what;
  std::getline(words >> lost >> std::ws, what);
  if (peers.contains(lost))
    set_failure(lost, what);
  else
    set_failure(rank, "exited because it lost this rank");
}

void Heartbeat::State::set_failure(int64_t rank, const std::string& what) {
  if (failure) return;
  const std::string& known = peers.at(rank).host;
  const std::string& host = known.empty() && rank == 0 ? rank_info.address : known;
  const bool lost = what.starts_with("is lost");
  // The lowest remaining rank prints the message; a failed rank 0 prints its own.
  const bool quiet = rank_info.rank != (rank == 0 && lost ? 1 : 0);
  failure = {rank, what,
             fmt::format("rank {}{} {}{}", rank, host.empty() ? "" : " on " + host, what, lost ? "; " + advice : ""),
             quiet};
  changed.notify_all();
}

// The store is hosted by rank 0. In LibTorch 1.13 it serves no request while a peer hangs mid-request, not even one of
// rank 0 itself.
void Heartbeat::State::handle_silent_store() {
  if (rank_info.rank != 0) return set_failure(0, "is lost (its store does not answer)");
  if (failure) return;
  failure = {rank_info.rank, "waits for a rank that hangs",
             "a rank hangs in a request to rank 0, which cannot tell which rank it is; " + advice, false};
  changed.notify_all();
}

bool Heartbeat::State::all_exited() const {
  return std::all_of(peers.begin(), peers.end(), [](const auto& peer) { return peer.second.exited; });
}

void Heartbeat::State::announce_exit(const std::string& how) {
  std::unique_lock lock(mutex);
  if (!exit_message.empty()) return;
  exit_message = failure && how != kLeft ? fmt::format("{}{} {}", kAfter, failure->rank, failure->what) : how;
  changed.notify_all();
  const bool waits = exit_message == kLeft && rank_info.rank == 0;
  changed.wait_for(lock, waits ? std::max<Clock::duration>(kExitTimeout, patience) : kExitTimeout,
                   [this] { return done || failure; });
}

Heartbeat::Heartbeat(const RankInfo& rank_info, double patience, c10::intrusive_ptr<c10d::Store> store)
    : state_(std::make_shared<State>(rank_info, patience, std::move(store))),
      beat_([state = state_] { state->beat(); }),
      watchdog_([state = state_] { state->watch(); }) {}

Heartbeat::~Heartbeat() {
  leave();
  bool done = false;
  {
    std::unique_lock lock(state_->mutex);
    state_->stopped = true;
    state_->changed.notify_all();
    done = state_->changed.wait_for(lock, kGracePeriod, [this] { return state_->done; });
  }
  watchdog_.join();
  if (done)
    beat_.join();
  else
    beat_.detach();
}

void Heartbeat::advise(std::string advice) {
  const std::lock_guard lock(state_->mutex);
  state_->advice = std::move(advice);
}

void Heartbeat::leave() {
  state_->announce_exit(std::string(kLeft));
}

void Heartbeat::fail(const std::string& message) {
  state_->announce_exit("failed: " + first_line(message));
}

void Heartbeat::check(double seconds) {
  State& state = *state_;
  std::unique_lock lock(state.mutex);
  if (seconds > 0) {
    state.collective_failed = true;
    state.changed.wait_for(lock, std::chrono::duration<double>(seconds), [&] { return state.failure.has_value(); });
  }
  if (!state.failure) return;
  state.reported = true;
  state.changed.notify_all();
  throw LostPeer(state.failure->message, state.failure->quiet);
}

}  // namespace tributary
