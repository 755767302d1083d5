#include "tributary/scale/sockets.h"

#include <ifaddrs.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>

#include "tributary/base/error.h"
#include "tributary/base/text.h"

namespace tributary {
namespace {

using Addresses = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

Addresses resolve(const std::string& host, int port, int flags) {
  addrinfo wanted{};
  wanted.ai_socktype = SOCK_STREAM;
  wanted.ai_flags = flags | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int failed = getaddrinfo(host.c_str(), std::to_string(port).c_str(), &wanted, &found);
  if (failed != 0) input_error("rank 0's address '{}' leads nowhere: {}", printable(host), gai_strerror(failed));
  return {found, freeaddrinfo};
}

std::string numeric(const sockaddr* name, socklen_t size) {
  std::array<char, NI_MAXHOST> host{};
  if (getnameinfo(name, size, host.data(), host.size(), nullptr, 0, NI_NUMERICHOST) != 0) return {};
  return host.data();
}

bool is_loopback(const std::string& number) {
  return number.rfind("127.", 0) == 0 || number == "::1";
}

// The address of the first interface that is up and leads out of this machine; empty where none does.
std::string outer_address(int family) {
  ifaddrs* found = nullptr;
  if (getifaddrs(&found) != 0) return {};
  const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> all(found, freeifaddrs);
  for (const ifaddrs* one = found; one; one = one->ifa_next) {
    if (!one->ifa_addr || one->ifa_addr->sa_family != family) continue;
    const std::string number = numeric(one->ifa_addr, family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6));
    if (!number.empty() && !is_loopback(number)) return number;
  }
  return {};
}

// It lies at the same place in both families.
int port_of(const sockaddr_storage& name) {
  return ntohs(reinterpret_cast<const sockaddr_in&>(name).sin_port);
}

void set_up(int socket) {
  const int yes = 1;
  setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
}

constexpr int kAnyFlags = SOCK_CLOEXEC | SOCK_NONBLOCK;

}  // namespace

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  if (this != &other) {
    reset();
    std::swap(number_, other.number_);
  }
  return *this;
}

void Descriptor::reset() {
  if (number_ >= 0) close(number_);
  number_ = -1;
}

std::string own_address(const std::string& address) {
  constexpr int kAnyPort = 9;  // nothing is sent: a datagram socket only looks up the way
  const Addresses there = resolve(address, kAnyPort, 0);
  for (const addrinfo* one = there.get(); one; one = one->ai_next) {
    const Descriptor probe(socket(one->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    sockaddr_storage name{};
    socklen_t size = sizeof name;
    if (!probe.open() || connect(probe.number(), one->ai_addr, one->ai_addrlen) != 0 ||
        getsockname(probe.number(), reinterpret_cast<sockaddr*>(&name), &size) != 0)
      continue;
    const std::string number = numeric(reinterpret_cast<const sockaddr*>(&name), size);
    if (!is_loopback(number) || is_loopback(address) || address == "localhost") return number;
    const std::string outer = outer_address(one->ai_family);
    return outer.empty() ? number : outer;
  }
  input_error("no network of this machine leads to rank 0's address '{}'", printable(address));
}

Listener listen_at(const std::string& address) {
  const Addresses here = resolve(address, 0, AI_NUMERICHOST | AI_PASSIVE);
  Listener listener;
  listener.socket = Descriptor(socket(here->ai_family, SOCK_STREAM | kAnyFlags, 0));
  sockaddr_storage name{};
  socklen_t size = sizeof name;
  if (!listener.socket.open() || bind(listener.socket.number(), here->ai_addr, here->ai_addrlen) != 0 ||
      listen(listener.socket.number(), SOMAXCONN) != 0 ||
      getsockname(listener.socket.number(), reinterpret_cast<sockaddr*>(&name), &size) != 0)
    work_error("the other ranks cannot be awaited at {}: {}", address, std::strerror(errno));
  listener.port = port_of(name);
  return listener;
}

Descriptor accept_from(const Listener& listener) {
  Descriptor socket(accept4(listener.socket.number(), nullptr, nullptr, kAnyFlags));
  if (socket.open()) set_up(socket.number());
  return socket;
}

void keep_to_loopback(const std::string& address, int port) {
  if (!is_loopback(own_address(address))) return;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    const int descriptor = std::atoi(entry.path().filename().c_str());
    sockaddr_storage name{};
    socklen_t size = sizeof name, flag_size = sizeof(int);
    int listens = 0;
    if (getsockopt(descriptor, SOL_SOCKET, SO_ACCEPTCONN, &listens, &flag_size) != 0 || listens == 0 ||
        getsockname(descriptor, reinterpret_cast<sockaddr*>(&name), &size) != 0 || port_of(name) != port)
      continue;
    constexpr char kLoopback[] = "lo";
    setsockopt(descriptor, SOL_SOCKET, SO_BINDTODEVICE, kLoopback, sizeof kLoopback);
  }
}

Descriptor connect_to(const std::string& address, int port, double seconds) {
  const Addresses there = resolve(address, port, AI_NUMERICHOST);
  Descriptor connection(socket(there->ai_family, SOCK_STREAM | kAnyFlags, 0));
  int error = connection.open() ? 0 : errno;
  if (error == 0 && connect(connection.number(), there->ai_addr, there->ai_addrlen) != 0) error = errno;
  if (error == EINPROGRESS) {
    pollfd waiting{connection.number(), POLLOUT, 0};
    socklen_t size = sizeof error;
    if (poll(&waiting, 1, static_cast<int>(seconds * 1000)) != 1)
      error = ETIMEDOUT;
    else
      getsockopt(connection.number(), SOL_SOCKET, SO_ERROR, &error, &size);
  }
  if (error != 0) work_error("rank 0 is not reached at {} port {}: {}", address, port, std::strerror(error));
  set_up(connection.number());
  return connection;
}

void send_text(const Descriptor& socket, const std::string& text) {
  // Who takes nothing for so long that its buffer is full is about to be found lost anyway.
  if (socket.open()) [[maybe_unused]]
    const ssize_t sent = send(socket.number(), text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
}

bool receive_text(const Descriptor& socket, std::string& text) {
  std::array<char, 4096> buffer;
  for (;;) {
    const ssize_t count = recv(socket.number(), buffer.data(), buffer.size(), MSG_DONTWAIT);
    if (count > 0)
      text.append(buffer.data(), static_cast<size_t>(count));
    else if (count == 0 || (errno != EAGAIN && errno != EINTR))
      return false;
    else if (errno == EAGAIN)
      return true;
  }
}

}  // namespace tributary
