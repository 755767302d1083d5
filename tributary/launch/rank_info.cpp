#include "tributary/launch/rank_info.h"

#include <charconv>
#include <cstdlib>
#include <utility>

#include "tributary/base/error.h"
#include "tributary/base/text.h"

namespace tributary {
namespace {

// The environment variables of a launcher. `local_size` is optional.
struct LauncherVariables {
  const char *rank, *size, *local_rank, *local_size;
};

constexpr LauncherVariables kTorchrun = {"RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE"};
constexpr LauncherVariables kOpenMpi = {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK",
                                        "OMPI_COMM_WORLD_LOCAL_SIZE"};
constexpr LauncherVariables kSlurm = {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID", nullptr};
constexpr LauncherVariables kMpich = {"PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS"};

constexpr int64_t kMaxRanks = 1 << 20;

std::optional<int64_t> number(const Environment& environment, const char* name, int64_t min, int64_t max) {
  const std::optional<std::string> text = environment(name);
  if (!text || text->empty()) return std::nullopt;
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), value);
  if (error != std::errc() || end != text->data() + text->size() || value < min || value > max)
    input_error("the environment variable {} is '{}', but must be an integer from {} to {}; correct it", name,
                printable(*text), min, max);
  return value;
}

bool has(const Environment& environment, const char* name) {
  const std::optional<std::string> text = environment(name);
  return text && !text->empty();
}

// Batch scripts and salloc shells have most of Slurm's variables, too. Only srun has steps of several tasks.
bool within_srun(const Environment& environment) {
  return has(environment, "SLURM_STEP_ID") && has(environment, kSlurm.rank) &&
         number(environment, kSlurm.size, 1, kMaxRanks).value_or(1) > 1;
}

const LauncherVariables* find_launcher(const Environment& environment) {
  if (has(environment, kTorchrun.rank) || has(environment, kTorchrun.size)) return &kTorchrun;
  if (has(environment, kOpenMpi.size)) return &kOpenMpi;
  if (within_srun(environment)) return &kSlurm;
  if (has(environment, kMpich.size)) return &kMpich;
  return nullptr;
}

// Slurm assigns no port. Job and step numbers are unique at a time; the range is below the ephemeral ports.
int slurm_port(const Environment& environment) {
  constexpr int64_t kFirst = 20000, kCount = 10000, kLargest = int64_t{1} << 40;
  const int64_t job = number(environment, "SLURM_JOB_ID", 0, kLargest).value_or(0);
  const int64_t step = number(environment, "SLURM_STEP_ID", 0, kLargest).value_or(0);
  return static_cast<int>(kFirst + (job * 16 + step) % kCount);
}

std::string find_address(const Environment& environment, const LauncherVariables& launcher, const RankInfo& rank_info) {
  if (const auto given = environment("MASTER_ADDR"); given && !given->empty()) return *given;
  if (&launcher == &kSlurm)
    for (const char* const name : {"SLURM_STEP_NODELIST", "SLURM_JOB_NODELIST"})
      if (const auto list = environment(name); list && !list->empty()) return first_host(*list);
  if (launcher.local_size) {
    const int64_t here = number(environment, launcher.local_size, 1, kMaxRanks).value_or(rank_info.size);
    if (here < rank_info.size)
      input_error(
          "{} of {} processes are on this machine, but MASTER_ADDR is not set; set it to "
          "the address of rank 0's machine",
          here, rank_info.size);
  }
  return RankInfo().address;
}

}  // namespace

std::optional<std::string> own_environment(const std::string& name) {
  const char* const text = std::getenv(name.c_str());
  return text ? std::optional<std::string>(text) : std::nullopt;
}

void clear_rank_environment() {
  for (const LauncherVariables* const launcher : {&kTorchrun, &kOpenMpi, &kSlurm, &kMpich})
    for (const char* const name : {launcher->rank, launcher->size}) unsetenv(name);
  unsetenv(kJobSecret);
}

std::string first_host(const std::string& list) {
  std::string host;
  for (size_t at = 0; at < list.size() && list[at] != ','; ++at) {
    if (list[at] != '[') {
      host += list[at];
      continue;
    }
    const size_t end = list.find_first_of(",-]", at), close = list.find(']', at);
    if (close == std::string::npos)
      input_error("'{}' is not a host list: a bracket is not closed; correct Slurm's node list", printable(list));
    host += list.substr(at + 1, end - at - 1);
    at = close;
  }
  return host;
}

RankInfo read_rank_info(const Environment& environment) {
  RankInfo rank_info;
  const LauncherVariables* const launcher = find_launcher(environment);
  if (!launcher) return rank_info;
  rank_info.given = true;
  for (const auto& [name, other] :
       {std::pair(launcher->rank, launcher->size), std::pair(launcher->size, launcher->rank)})
    if (!has(environment, name)) input_error("the environment has {} but no {}; set both, or none", other, name);
  rank_info.size = *number(environment, launcher->size, 1, kMaxRanks);
  rank_info.rank = *number(environment, launcher->rank, 0, kMaxRanks);
  if (rank_info.rank >= rank_info.size)
    input_error("{} is {}, but {} is {}; ranks start at 0", launcher->rank, rank_info.rank, launcher->size,
                rank_info.size);
  rank_info.address = find_address(environment, *launcher, rank_info);
  const bool one_machine = rank_info.address == RankInfo().address || rank_info.address == "localhost";
  rank_info.local_rank =
      number(environment, launcher->local_rank, 0, kMaxRanks).value_or(one_machine ? rank_info.rank : 0);
  constexpr int kLastPort = 65535;
  if (const auto port = number(environment, "MASTER_PORT", 1, kLastPort))
    rank_info.port = static_cast<int>(*port);
  else if (launcher == &kSlurm)
    rank_info.port = slurm_port(environment);
  else if (rank_info.size > 1)
    input_error(
        "{} is {}, but MASTER_PORT is not set; set it to a free port of rank 0's "
        "machine, the same for all",
        launcher->size, rank_info.size);
  // torchrun restarts failed processes and hosts the store of all attempts in its agent.
  rank_info.store_hosted_by_launcher = environment("TORCHELASTIC_USE_AGENT_STORE") == "True";
  if (rank_info.store_hosted_by_launcher) rank_info.attempt = environment("TORCHELASTIC_RESTART_COUNT").value_or("0");
  rank_info.secret = environment(kJobSecret).value_or("");
  return rank_info;
}

}  // namespace tributary
