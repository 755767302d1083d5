// The launcher for `--processes N`: starts the ranks of one command on this machine and supervises them.
//
// The parent passes each child its rank in the environment (rank_info.h) and waits. To the user it is one program: only
// rank 0 writes to standard output, Ctrl-C and SIGTERM reach all ranks, a failing rank terminates the others, and the
// exit code is that of the rank that failed first. No process outlives the parent.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tributary {

struct Launch {
  int64_t processes = 1;
  std::string program;                 // path
  std::vector<std::string> arguments;  // argv, including argv[0]
  // After a rank has failed, the others have `grace` seconds to exit by themselves; then they get a SIGTERM, and a
  // SIGKILL `last_grace` seconds later.
  double grace = 8, last_grace = 5;
};

// This program with its own arguments.
Launch own_launch(int64_t processes);

// Starts the processes, waits for all of them and returns the exit code: that of the first rank that failed by itself,
// 128 + n if signal n killed it; 0 if all succeeded. Call it from the main thread before there are others. Throws a
// WorkError if a process cannot be started.
int launch(const Launch& plan);

// Whether this process was started by `launch`.
bool launched();
// The exit code of a process that exits because it has lost another rank. The parent does not report it as the cause.
// Without a launcher, it is the ordinary code of a failure.
int exit_code_for_lost_peer();

}  // namespace tributary
