#include "tributary/scale/watch.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <random>
#include <sstream>

#include "tributary/base/message.h"
#include "tributary/scale/launch.h"

namespace tributary {
namespace {

using std::chrono::duration_cast;
using std::chrono::milliseconds;

constexpr milliseconds kChance{1500};     // for the main thread to hear the sentence
constexpr milliseconds kUnwinding{5000};  // and then to end its work with it
constexpr milliseconds kFarewell{5000};   // for the others to end in good order before rank 0 does
constexpr size_t kLongest = 4096;         // of a line

// Two ways to write a time, one meaning.
template <typename Duration>
Duration of_seconds(double seconds) {
  return duration_cast<Duration>(std::chrono::duration<double>(seconds));
}

std::string host_name() {
  std::string name(256, '\0');
  if (gethostname(name.data(), name.size() - 1) != 0) return "unknown";
  return name.c_str();
}

std::string new_token() {
  std::random_device chance;
  return fmt::format("{:08x}{:08x}", chance(), chance());
}

}  // namespace

Watch::Watch(const Place& place, double patience, const Agree& agree)
    : place_(place),
      patience_(of_seconds<Clock::duration>(patience)),
      beat_(std::min<Clock::duration>(patience_ / 10, std::chrono::seconds(1))),
      wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  const std::string own = own_address(place.address);
  if (place.rank == 0) {
    listener_ = listen_at(own);
    token_ = new_token();
    agree(fmt::format("{} {} {} {}", own, listener_.port, token_, host_name()));
    for (int64_t rank = 1; rank < place.size; ++rank) peers_[rank].seen = Clock::now();
  } else {
    std::istringstream words(agree(""));
    std::string address;
    int port = 0;
    Peer first;
    words >> address >> port >> token_ >> first.host;
    first.socket = connect_to(address, port, patience);
    first.seen = Clock::now();
    send_text(first.socket, fmt::format("hello {} {} {}\n", token_, place.rank, host_name()));
    peers_.emplace(0, std::move(first));
  }
  thread_ = std::thread([this] { run(); });
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return verdict_ || complete_; });
  if (!verdict_) return;
  const LostPeer lost(verdict_->sentence, verdict_->quiet);
  leaving_ = heard_ = true;
  lock.unlock();
  changed_.notify_all();
  thread_.join();
  throw lost;
}

Watch::~Watch() {
  leave();
}

void Watch::advise(std::string advice) {
  const std::lock_guard lock(mutex_);
  advice_ = std::move(advice);
}

// Rank 0 says when all have come.
void Watch::call_the_roll() {
  if (complete_ || place_.rank != 0) return;
  complete_ = std::all_of(peers_.begin(), peers_.end(), [](const auto& entry) { return entry.second.socket.open(); });
  if (!complete_) return;
  tell("complete");
  changed_.notify_all();
}

void Watch::leave() {
  std::unique_lock lock(mutex_);
  if (!thread_.joinable()) return;
  if (!leaving_ && !verdict_) {
    tell("bye");
    const auto all_gone = [this] {
      return verdict_ || std::all_of(peers_.begin(), peers_.end(), [](const auto& entry) { return entry.second.gone; });
    };
    heard_ = true;  // what now becomes of the others is no longer this rank's affair
    if (place_.rank == 0) changed_.wait_for(lock, kFarewell, all_gone);
  }
  leaving_ = heard_ = true;
  lock.unlock();
  changed_.notify_all();
  eventfd_write(wake_.number(), 1);
  thread_.join();
}

void Watch::fail(const std::string& message) {
  {
    const std::lock_guard lock(mutex_);
    if (leaving_ || verdict_) return;
    tell(fmt::format("failed {} {}", place_.rank, first_line(message).substr(0, kLongest / 2)));
    leaving_ = true;
  }
  leave();
}

void Watch::check(double seconds) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, of_seconds<milliseconds>(seconds), [this] { return verdict_ || left_; });
  if (verdict_) {
    heard_ = true;
    changed_.notify_all();
    throw LostPeer(verdict_->sentence, verdict_->quiet);
  }
  if (left_ && seconds > 0)
    throw LostPeer(fmt::format("rank {} ended before the work was done; {}", *left_, advice_), false);
}

void Watch::tell(const std::string& line, int64_t except) {
  for (const auto& [rank, peer] : peers_)
    if (rank != except) send_text(peer.socket, line + "\n");
}

void Watch::run() {
  Clock::time_point last = Clock::now(), next_beat = last;
  std::unique_lock lock(mutex_);
  while (!leaving_ && !verdict_) {
    const Clock::time_point now = Clock::now();
    if (now - last > patience_ / 2)  // this process was itself held up, and heard nobody meanwhile
      for (auto& [rank, peer] : peers_) peer.seen = now;
    last = now;
    if (now >= next_beat) {
      tell("alive");
      next_beat = now + beat_;
    }
    meet_strangers();
    for (auto& [rank, peer] : peers_)
      if (!verdict_) hear(rank, peer);
    if (!verdict_) judge();
    call_the_roll();
    if (leaving_ || verdict_) break;

    std::vector<pollfd> waiting = {{wake_.number(), POLLIN, 0}, {listener_.socket.number(), POLLIN, 0}};
    for (const auto& [rank, peer] : peers_) waiting.push_back({peer.gone ? -1 : peer.socket.number(), POLLIN, 0});
    for (const Peer& stranger : strangers_) waiting.push_back({stranger.socket.number(), POLLIN, 0});
    const auto left = duration_cast<milliseconds>(next_beat - Clock::now()).count() + 1;
    lock.unlock();
    poll(waiting.data(), waiting.size(), static_cast<int>(std::max<int64_t>(0, left)));
    lock.lock();
  }
  if (verdict_) end_process_unless_heard(lock);
}

void Watch::meet_strangers() {
  if (!listener_.socket.open()) return;
  for (Descriptor socket = accept_from(listener_); socket.open(); socket = accept_from(listener_)) {
    strangers_.emplace_back();
    strangers_.back().socket = std::move(socket);
    strangers_.back().seen = Clock::now();
  }
  for (Peer& stranger : strangers_) {
    const bool open = receive_text(stranger.socket, stranger.unread);
    const size_t end = stranger.unread.find('\n');
    if (end == std::string::npos) {
      if (!open || stranger.unread.size() > kLongest || Clock::now() - stranger.seen > patience_)
        stranger.socket.reset();
      continue;
    }
    std::istringstream words(stranger.unread.substr(0, end));
    std::string hello, token, host;
    int64_t rank = 0;
    words >> hello >> token >> rank >> host;
    const auto found = peers_.find(rank);
    if (!words || hello != "hello" || token != token_ || found == peers_.end() || found->second.socket.open()) {
      stranger.socket.reset();
      continue;
    }
    Peer& peer = found->second;
    peer.socket = std::move(stranger.socket);
    peer.unread = stranger.unread.substr(end + 1);
    peer.host = host;
    peer.seen = Clock::now();
  }
  std::erase_if(strangers_, [](const Peer& stranger) { return !stranger.socket.open(); });
}

void Watch::hear(int64_t rank, Peer& peer) {
  if (peer.gone || !peer.socket.open()) return;
  const size_t before = peer.unread.size();
  const bool open = receive_text(peer.socket, peer.unread);
  if (peer.unread.size() > before) peer.seen = Clock::now();
  size_t begin = 0;
  for (size_t end; !verdict_ && (end = peer.unread.find('\n', begin)) != std::string::npos; begin = end + 1)
    take(rank, peer.unread.substr(begin, end - begin));
  peer.unread.erase(0, begin);
  if (!open && !peer.gone && !verdict_)
    decide(rank, "lost", fmt::format("on {} is lost (its process ended)", peer.host));
}

// One line of `from`: what it says of itself, or rank 0 of another.
void Watch::take(int64_t from, const std::string& line) {
  std::istringstream words(line);
  std::string kind, text;
  int64_t rank = from;
  words >> kind;
  if (kind == "complete") {
    complete_ = true;
    changed_.notify_all();
  } else if (kind == "bye" || kind == "left") {
    if (kind == "bye") peers_.at(from).gone = true;
    words >> rank;
    if (!words) rank = from;
    left_ = rank;
    if (place_.rank == 0) tell(fmt::format("left {}", rank), from);
    changed_.notify_all();
  } else if (kind == "failed" || kind == "lost") {
    words >> rank >> std::ws;
    std::getline(words, text);
    decide(rank, kind, text);
  }
}

void Watch::judge() {
  for (const auto& [rank, peer] : peers_) {
    const Clock::duration silent = Clock::now() - peer.seen;
    if (peer.gone || silent <= patience_) continue;
    const std::string where = peer.host.empty() ? "" : fmt::format("on {} ", peer.host);
    decide(
        rank, "lost",
        fmt::format("{}is lost (no sign of life for {:.0f} s)", where, std::chrono::duration<double>(silent).count()));
    return;
  }
}

void Watch::decide(int64_t rank, const std::string& kind, const std::string& text) {
  if (place_.rank == 0) tell(fmt::format("{} {} {}", kind, rank, text), rank);
  Verdict verdict;
  if (rank == place_.rank)
    verdict.sentence = fmt::format("the others took this rank {} for lost; {}", rank, advice_);
  else if (kind == "failed")
    verdict.sentence = fmt::format("rank {} failed: {}", rank, text);
  else
    verdict.sentence = fmt::format("rank {} {}; {}", rank, text, advice_);
  // Processes of one launch write to one place: a failure is told by the rank itself, a loss by the first that is left.
  verdict.quiet = launched() && (kind == "failed" || place_.rank != (rank == 0 ? 1 : 0));
  verdict_ = verdict;
  changed_.notify_all();
}

void Watch::end_process_unless_heard(std::unique_lock<std::mutex>& lock) {
  changed_.wait_for(lock, kChance, [this] { return heard_; });
  if (heard_ && changed_.wait_for(lock, kUnwinding, [this] { return leaving_; })) return;
  if (!verdict_->quiet) {
    const std::string line = fmt::format("tributary: {}\n", verdict_->sentence);
    [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, line.data(), line.size());
  }
  _exit(exit_code_for_lost_peer());
}

}  // namespace tributary
