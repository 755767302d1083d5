// Where this process stands among those that work together: which rank it is, of how many, and where they meet.
//
// Whoever starts the processes says so in their environment, each in its own words: torchrun and `--processes`
// (launch.h), Open MPI's mpirun, srun, and the mpiexec of MPICH and Intel. Without any of them a process is alone.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace tributary {

struct RankInfo {
  int64_t rank = 0, size = 1;
  int64_t local_rank = 0;                 // among the processes of this machine; the GPU it takes
  std::string address = "127.0.0.1";      // of rank 0's machine; the loopback unless the environment names another
  int port = 0;                           // where rank 0 is met
  bool store_hosted_by_launcher = false;  // whoever started the processes has the place where they meet, not rank 0
  std::string attempt;                    // of those starts that share one such place, which it is
  bool given = false;                     // somebody started this process as one of several, be it of one
};

// A variable's text; nothing where it is missing.
using Environment = std::function<std::optional<std::string>(const std::string& name)>;

// This process's own.
std::optional<std::string> own_environment(const std::string& name);

// What the environment says. Values that cannot be are InputErrors.
RankInfo read_rank_info(const Environment& environment = own_environment);

// From here on programs that this one starts are told nothing of it: they are alone.
void clear_rank_environment();

// The first host of a list as Slurm writes it: node003 of node[003-005,9],gpu1.
std::string first_host(const std::string& list);

}  // namespace tributary
