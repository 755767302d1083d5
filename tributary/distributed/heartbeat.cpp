#include "tributary/distributed/heartbeat.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <condition_variable>
#include <iostream>
#include <map>
#include <mutex>
#include <optional>
#include <sstream>
#include <string_view>

#include "tributary/base/message.h"
#include "tributary/launch/launcher.h"

namespace tributary {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kSuspicion = std::chrono::seconds(4);  // without a sign of life, once a collective has failed
constexpr auto kMoment = std::chrono::seconds(2);     // for the main thread to end by itself
constexpr auto kGoodbye = std::chrono::seconds(5);    // for the store, to take what a rank says at its end
// Last words: that it ended in good order; that it did after rank NUMBER, with what became of that.
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
    int64_t signs = 0;
    Clock::time_point seen;
    bool ended = false;
  };
  struct Verdict {
    int64_t rank;
    std::string what, sentence;
    bool quiet;
  };

  State(const RankInfo& own, double seconds, c10::intrusive_ptr<c10d::Store> connection);
  void beat();
  void guard();
  void look_at(int64_t rank, Peer& peer, Clock::time_point now);
  void end(const std::string& how);
  // Under the mutex.
  void hear(int64_t rank, const std::string& last_word);
  void decide(int64_t rank, const std::string& what);
  void miss_an_answer();
  bool all_ended() const;

  const RankInfo rank_info;
  const Clock::duration patience, pause;
  const c10::intrusive_ptr<c10d::Store> store;  // of the first thread alone
  std::map<int64_t, Peer> peers;
  std::mutex mutex;  // over all that follows, and what is `ended` of the peers
  std::condition_variable changed;
  std::string advice = "what was kept before it stands, and the same command goes on from there";
  std::string ending;  // how this rank ends; empty: it works
  bool suspicious = false, heard = false, done = false, stopped = false;
  Clock::time_point answered = Clock::now();  // the store, the last time
  std::optional<Verdict> verdict;
};

Heartbeat::State::State(const RankInfo& own, double seconds, c10::intrusive_ptr<c10d::Store> connection)
    : rank_info(own),
      patience(std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds))),
      pause(std::min<Clock::duration>(patience / 10, std::chrono::seconds(1))),
      store(std::move(connection)) {
  for (int64_t rank = 0; rank < rank_info.size; ++rank)
    if (rank != rank_info.rank) peers[rank].seen = answered;
  put(*store, key("host", rank_info.rank), own_host());
}

// Signs of life, until this rank ends; rank 0 goes on until all have ended.
void Heartbeat::State::beat() {
  try {
    for (int64_t signs = 1;; ++signs) {
      put(*store, key("alive", rank_info.rank), std::to_string(signs));
      std::string said;
      {
        const std::lock_guard lock(mutex);
        said = ending;
      }
      if (!said.empty()) put(*store, key("end", rank_info.rank), said);
      const Clock::time_point now = Clock::now();
      for (auto& [rank, peer] : peers) look_at(rank, peer, now);
      std::unique_lock lock(mutex);
      answered = Clock::now();
      if (!said.empty() && (rank_info.rank != 0 || all_ended() || verdict || stopped)) break;
      changed.wait_for(lock, pause, [&] { return stopped || ending != said; });
    }
  } catch (const std::exception&) {
    const std::lock_guard lock(mutex);
    if (ending.empty() && rank_info.rank != 0) decide(0, "is lost (its connection ended)");
  }
  const std::lock_guard lock(mutex);
  done = true;
  changed.notify_all();
}

void Heartbeat::State::look_at(int64_t rank, Peer& peer, Clock::time_point now) {
  if (peer.ended) return;
  const std::string signs = take(*store, key("alive", rank)), last_word = take(*store, key("end", rank));
  if (peer.host.empty()) peer.host = take(*store, key("host", rank));
  const std::lock_guard lock(mutex);
  if (!last_word.empty()) {
    peer.ended = true;
    if (last_word != kLeft && ending.empty()) hear(rank, last_word);
    return;
  }
  if (const int64_t count = std::atoll(signs.c_str()); count != peer.signs) {
    peer.signs = count;
    peer.seen = now;
    return;
  }
  if (peer.signs == 0) return;  // not there yet: those who wait for it have a limit of their own
  const Clock::duration limit = suspicious ? std::min<Clock::duration>(patience, kSuspicion) : patience;
  if (now - peer.seen < limit) return;
  peer.ended = true;
  if (ending.empty())
    decide(rank, fmt::format("is lost (no sign of life for {:.0f} s)",
                             std::chrono::duration<double>(now - peer.seen).count()));
}

// Ends the process where nobody else can.
void Heartbeat::State::guard() {
  std::unique_lock lock(mutex);
  while (!stopped) {
    changed.wait_for(lock, pause);
    if (Clock::now() - answered > patience && ending.empty()) miss_an_answer();
    if (!verdict || heard || !ending.empty()) continue;
    if (changed.wait_for(lock, kMoment, [this] { return heard || stopped || !ending.empty(); })) continue;
    if (!verdict->quiet) std::cerr << fmt::format("tributary: {}\n", verdict->sentence) << std::flush;
    _exit(exit_code_for_lost_peer());
  }
}

// Whoever was the first to miss a rank tells the others, so that all name that one and not the messenger.
void Heartbeat::State::hear(int64_t rank, const std::string& last_word) {
  if (!last_word.starts_with(kAfter)) return decide(rank, last_word);
  std::istringstream words(last_word.substr(kAfter.size()));
  int64_t missed = -1;
  std::string what;
  std::getline(words >> missed >> std::ws, what);
  if (peers.contains(missed))
    decide(missed, what);
  else
    decide(rank, "has given this rank up");
}

void Heartbeat::State::decide(int64_t rank, const std::string& what) {
  if (verdict) return;
  const std::string& known = peers.at(rank).host;
  const std::string& host = known.empty() && rank == 0 ? rank_info.address : known;
  const bool lost = what.starts_with("is lost");
  // The lowest rank that is left speaks for all; rank 0 for itself, if it failed.
  const bool quiet = rank_info.rank != (rank == 0 && lost ? 1 : 0);
  verdict = {rank, what,
             fmt::format("rank {}{} {}{}", rank, host.empty() ? "" : " on " + host, what, lost ? "; " + advice : ""),
             quiet};
  changed.notify_all();
}

// Of the store. It lives in rank 0; there it is silent where a rank stopped in the midst of a request, for which
// LibTorch lets all others wait.
void Heartbeat::State::miss_an_answer() {
  if (rank_info.rank != 0) return decide(0, "is lost (no answer from it)");
  if (verdict) return;
  verdict = {rank_info.rank, "waits for a rank that stands still",
             "a rank stands still in the midst of a message to rank 0, which cannot tell which one; " + advice, false};
  changed.notify_all();
}

bool Heartbeat::State::all_ended() const {
  return std::all_of(peers.begin(), peers.end(), [](const auto& peer) { return peer.second.ended; });
}

void Heartbeat::State::end(const std::string& how) {
  std::unique_lock lock(mutex);
  if (!ending.empty()) return;
  ending = verdict && how != kLeft ? fmt::format("{}{} {}", kAfter, verdict->rank, verdict->what) : how;
  changed.notify_all();
  const bool waits = ending == kLeft && rank_info.rank == 0;
  changed.wait_for(lock, waits ? std::max<Clock::duration>(kGoodbye, patience) : kGoodbye,
                   [this] { return done || verdict; });
}

Heartbeat::Heartbeat(const RankInfo& rank_info, double patience, c10::intrusive_ptr<c10d::Store> store)
    : state_(std::make_shared<State>(rank_info, patience, std::move(store))),
      beat_([state = state_] { state->beat(); }),
      guard_([state = state_] { state->guard(); }) {}

Heartbeat::~Heartbeat() {
  leave();
  bool done = false;
  {
    std::unique_lock lock(state_->mutex);
    state_->stopped = true;
    state_->changed.notify_all();
    done = state_->changed.wait_for(lock, kMoment, [this] { return state_->done; });
  }
  guard_.join();
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
  state_->end(std::string(kLeft));
}

void Heartbeat::fail(const std::string& message) {
  state_->end("failed: " + first_line(message));
}

void Heartbeat::check(double seconds) {
  State& state = *state_;
  std::unique_lock lock(state.mutex);
  if (seconds > 0) {
    state.suspicious = true;
    state.changed.wait_for(lock, std::chrono::duration<double>(seconds), [&] { return state.verdict.has_value(); });
  }
  if (!state.verdict) return;
  state.heard = true;
  state.changed.notify_all();
  throw LostPeer(state.verdict->sentence, state.verdict->quiet);
}

}  // namespace tributary
