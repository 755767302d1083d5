// `--processes N`: several processes of one command on this machine, started and looked after by a parent that does
// nothing else.
//
// The parent tells each its place (place.h) on the loopback and waits. What a person sees is one program: only rank 0
// has the output, Ctrl-C and SIGTERM reach all, a rank that ends badly ends the others, and the exit code is that of
// the rank that was the cause. Nothing is left behind, however the parent ends.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tributary {

struct Launch {
  int64_t processes = 1;
  std::string program;                 // a path
  std::vector<std::string> arguments;  // the name it is called by, then the others
  // When one ended badly, the others get so many seconds to notice and end themselves, and so many more after SIGTERM
  // until SIGKILL.
  double grace = 8, last_grace = 5;
};

// This program with the arguments it was called with.
Launch own_launch(int64_t processes);

// Starts the processes and returns when all have ended: the exit code to end with. That is the code of the first that
// ended badly for a reason of its own, 128 + n where signal n ended it; 0 where all went well. Called from the main
// thread before there are others. A WorkError where a process cannot be started.
int launch(const Launch& plan);

// Whether this process was started so.
bool launched();
// The exit code of a process that ends only because another rank is gone: the parent must not take it for the cause.
// Where nobody launched us, the plain code for work that ended.
int exit_code_for_lost_peer();

}  // namespace tributary
