// The little of addresses that ranks need before c10d joins them.
#pragma once

#include <string>

namespace tributary {

// The number by which those who reach `address` from this machine are seen there, and on rank 0's machine the address
// itself. The loopback only where `address` is one: many systems give their own name an address of the loopback, which
// is of no use to others. A name that nobody knows is an InputError.
std::string own_address(const std::string& address);

// Where `address` is on the loopback, makes what this process listens to on `port` unreachable from other machines,
// though it was opened for all networks by somebody else.
void keep_to_loopback(const std::string& address, int port);

// A port of the loopback that nobody has now.
int free_port();

}  // namespace tributary
