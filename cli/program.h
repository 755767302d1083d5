// The whole program behind main, as a function that tests can call without a new process.
#pragma once

namespace tributary::cli {

// Runs `tributary ARGUMENTS` and returns its exit code. Once per process: it sets threads and signal handlers.
int run_program(int argc, char** argv);

}  // namespace tributary::cli
