// The little of TCP that ranks need to find and hear each other: addresses, and sockets that never make a thread wait.
#pragma once

#include <string>

namespace tributary {

// A descriptor that is closed with its owner.
class Descriptor {
 public:
  explicit Descriptor(int number = -1) : number_(number) {}
  ~Descriptor() { reset(); }
  Descriptor(Descriptor&& other) noexcept : number_(other.number_) { other.number_ = -1; }
  Descriptor& operator=(Descriptor&& other) noexcept;
  int number() const { return number_; }
  bool open() const { return number_ >= 0; }
  void reset();

 private:
  int number_;
};

// The number by which those who reach `address` from this machine are seen there, and on rank 0's machine the address
// itself. The loopback only where `address` is one: many systems give their own name an address of the loopback, which
// is of no use to others. A name that nobody knows is an InputError.
std::string own_address(const std::string& address);

// Waits for connections at a numeric address of this machine, on a port that is free.
struct Listener {
  Descriptor socket;
  int port = 0;
};
Listener listen_at(const std::string& address);
// The next connection, closed where there is none.
Descriptor accept_from(const Listener& listener);

// Where `address` is on the loopback, makes what this process listens to on `port` unreachable from other machines,
// though it was opened for all networks by somebody else.
void keep_to_loopback(const std::string& address, int port);

// Connects to a numeric address within `seconds`. A WorkError where that fails.
Descriptor connect_to(const std::string& address, int port, double seconds);

// Sends as much as goes without waiting.
void send_text(const Descriptor& socket, const std::string& text);
// Appends what has come. False when the connection has ended or is broken.
bool receive_text(const Descriptor& socket, std::string& text);

}  // namespace tributary
