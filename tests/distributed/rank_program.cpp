// Distributed program for tests.
//
// `rank_program [--processes N] sum` all-reduces and checks a few tensors; `sums` does so for ever; `fail RANK` exits
// with an error on one rank; `idle RANK` keeps the others waiting for one rank. Prints "r" after the rendezvous.
#include <unistd.h>

#include <cstdlib>
#include <iostream>
#include <string>

#include "tributary/distributed/heartbeat.h"
#include "tributary/distributed/process_group.h"
#include "tributary/launch/launcher.h"

namespace {

using namespace tributary;

void sum_once(ProcessGroup& process_group, int64_t size) {
  Tensor tensor = torch::arange(size, torch::kFloat32) * static_cast<double>(process_group.rank() + 1);
  process_group.all_reduce(tensor);
  const double factor = static_cast<double>(process_group.size() * (process_group.size() + 1)) / 2;
  if (!tensor.equal(torch::arange(size, torch::kFloat32) * factor))
    work_error("rank {}: wrong sum", process_group.rank());
}

void work(const RankInfo& rank_info, const std::string& what, const std::string& which) {
  DistributedOptions options;
  if (const char* const patience = std::getenv("PATIENCE")) options.heartbeat_timeout = std::atof(patience);
  if (const char* const timeout = std::getenv("TIMEOUT")) options.rank_timeout = std::atof(timeout);
  const std::unique_ptr<ProcessGroup> process_group = join(rank_info, torch::Device(torch::kCPU), options);
  process_group->advise("try again");
  std::cout << 'r' << std::flush;
  if (what == "sum") {
    for (const int64_t size : {1, 1000, 300000}) sum_once(*process_group, size);
    process_group->barrier();
    return;
  }
  if (what == "fail" && std::to_string(process_group->rank()) == which) throw WorkError("a failure of its own");
  while (what == "idle" && std::to_string(process_group->rank()) == which) pause();
  for (;;) sum_once(*process_group, 1000);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const RankInfo rank_info = read_rank_info();
    const bool several = argc > 2 && std::string(argv[1]) == "--processes";
    if (several && !rank_info.given) return launch(own_launch(std::atoi(argv[2])));
    const int at = several ? 3 : 1;
    work(rank_info, argc > at ? argv[at] : "", argc > at + 1 ? argv[at + 1] : "");
    return 0;
  } catch (const LostPeer& lost) {
    if (!lost.quiet()) std::cerr << "rank_program: " << lost.what() << '\n';
    return exit_code_for_lost_peer();
  } catch (const InputError& error) {
    std::cerr << "rank_program: " << error.what() << '\n';
    return kInputError;
  } catch (const std::exception& error) {
    std::cerr << "rank_program: " << error.what() << '\n';
    return kMemoryError;
  }
}
