// `tributary bench digits | digit-five | office-31 | office-home | domainnet | pacs | FILE.toml`: tables of methods.
#pragma once

#include <optional>

#include "cli/command.h"
#include "tributary/checkpoint/checkpointer.h"

namespace tributary::cli {

struct BenchTableOptions {
  std::string data, out, source_store;
  std::string methods = "all", targets = "all";
  int64_t seeds = 1, jobs = 1;
  int64_t source_epochs = 0, rounds = 0, inner_epochs = 0, epochs = 0;
  std::string init;
  bool ablation_rows = false;
  std::string sweep, set, skew;
  bool markdown = false;
  CheckpointOptions checkpoints;  // of every training and adaptation
};

void declare(OptionTable& table, BenchTableOptions& options);

// Flags that `bench speed` has as well; empty or 0 if they are not given.
struct SharedFlags {
  std::string architecture;
  std::string precision;                             // of adaptations; sources are trained with the default
  int64_t pictures = 0;                              // per generated domain
  std::optional<int64_t> gpu_memory = std::nullopt;  // free bytes of the GPU; nothing on a CPU
};

// Runs the table of benchmark `name` and prints it. Several ranks divide the jobs between them; they share the folder.
void run_bench_table(const std::string& name, const BenchTableOptions& options, const CommonOptions& common,
                     const SharedFlags& shared, Communicator* comm);

}  // namespace tributary::cli
