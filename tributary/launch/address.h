// Network addresses that ranks need before c10d connects them.
#pragma once

#include <string>

namespace tributary {

// This machine's numeric address on the route to `address`, rank 0's machine; on rank 0's machine, the address itself.
// It is a loopback address only if `address` is one: many systems resolve their own host name to the loopback, which
// other machines cannot reach. Throws an InputError if the name cannot be resolved.
std::string own_address(const std::string& address);

// If `address` is a loopback address, restricts this process's listening sockets on `port` to the loopback interface.
// c10d's store listens on all interfaces.
void keep_to_loopback(const std::string& address, int port);

// A port that is currently free on the loopback interface.
int free_port();

}  // namespace tributary
