// The rank of this process, the number of ranks and the address of rank 0, from the environment.
//
// Launchers set these in different variables. Supported are torchrun and `--processes` (launcher.h), Open MPI's mpirun,
// srun, and the mpiexec of MPICH and Intel. Without a launcher, there is one rank.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace tributary {

struct RankInfo {
  int64_t rank = 0, size = 1;
  int64_t local_rank = 0;                 // rank on this machine; the index of its GPU
  std::string address = "127.0.0.1";      // of rank 0's machine; the loopback by default
  int port = 0;                           // of rank 0's store
  bool store_hosted_by_launcher = false;  // the launcher hosts c10d's store, not rank 0
  std::string attempt;                    // restart count, if several attempts share that store
  std::string secret;                     // of the job: begins the names in the store, so that only its ranks know them
  bool given = false;                     // started by a launcher, even with one process
};

inline constexpr const char* kJobSecret = "TRIBUTARY_JOB_SECRET";  // set by the launcher

// The value of a variable; nullopt if it is not set.
using Environment = std::function<std::optional<std::string>(const std::string& name)>;

// The environment of this process.
std::optional<std::string> own_environment(const std::string& name);

// Reads the rank information. Throws an InputError for invalid values.
RankInfo read_rank_info(const Environment& environment = own_environment);

// Removes the rank from the environment, so that child processes run as one rank.
void clear_rank_environment();

// The first host of a Slurm host list: node003 of node[003-005,9],gpu1.
std::string first_host(const std::string& list);

}  // namespace tributary
