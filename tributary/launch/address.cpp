#include "tributary/launch/address.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netdb.h>
#include <netinet/in.h>
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

class Socket {
 public:
  explicit Socket(int number) : number_(number) {}
  ~Socket() {
    if (number_ >= 0) close(number_);
  }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
  int number() const { return number_; }

 private:
  int number_;
};

using Addresses = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

Addresses resolve(const std::string& host, int port) {
  addrinfo wanted{};
  wanted.ai_socktype = SOCK_STREAM;
  wanted.ai_flags = AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int failed = getaddrinfo(host.c_str(), std::to_string(port).c_str(), &wanted, &found);
  if (failed != 0)
    input_error("cannot resolve rank 0's address '{}': {}; correct MASTER_ADDR", printable(host), gai_strerror(failed));
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

// The address of the first interface that is not a loopback; empty if there is none.
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

// IPv4 and IPv6 addresses have the port at the same offset.
int port_of(const sockaddr_storage& name) {
  return ntohs(reinterpret_cast<const sockaddr_in&>(name).sin_port);
}

}  // namespace

std::string own_address(const std::string& address) {
  constexpr int kAnyPort = 9;  // connecting a datagram socket sends nothing; it only looks up the route
  const Addresses there = resolve(address, kAnyPort);
  for (const addrinfo* one = there.get(); one; one = one->ai_next) {
    const Socket probe(socket(one->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    sockaddr_storage name{};
    socklen_t size = sizeof name;
    if (probe.number() < 0 || connect(probe.number(), one->ai_addr, one->ai_addrlen) != 0 ||
        getsockname(probe.number(), reinterpret_cast<sockaddr*>(&name), &size) != 0)
      continue;
    const std::string number = numeric(reinterpret_cast<const sockaddr*>(&name), size);
    if (!is_loopback(number) || is_loopback(address) || address == "localhost") return number;
    const std::string outer = outer_address(one->ai_family);
    return outer.empty() ? number : outer;
  }
  input_error("no route to rank 0's address '{}'; correct MASTER_ADDR", printable(address));
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

int free_port() {
  const Socket listener(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in name{};
  name.sin_family = AF_INET;
  name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof name;
  auto* const plain = reinterpret_cast<sockaddr*>(&name);
  if (listener.number() < 0 || bind(listener.number(), plain, size) != 0 ||
      getsockname(listener.number(), plain, &size) != 0)
    work_error("no free port on the loopback interface: {}", std::strerror(errno));
  return ntohs(name.sin_port);
}

}  // namespace tributary
