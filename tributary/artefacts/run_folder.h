// A run on disk: one folder that says what was asked for, what happened and what came out.
//
//   config.toml        every option that makes the run what it is
//   metrics.jsonl      one object a round
//   model.safetensors  the adapted mixture
//   predictions.csv    the target pictures with their classes
//   summary.json       the figures of the last round
//   history/           what a report needs of every round
//   report.html        the page made of it
//   bound.jsonl        the terms of the bound, one object a round
//   events.out.…       curves for TensorBoard
//   checkpoint/        where an unfinished run goes on
//   DONE               written last
//
// The same command on a finished run says so, and on an unfinished one goes on; another configuration on the same
// folder is refused.
#pragma once

#include <fstream>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "tributary/base/folder_lock.h"
#include "tributary/base/options.h"

namespace tributary {

class RunFolder {
 public:
  // Looks at `path` without changing anything. `config` is the TOML text of this run. An InputError if the folder holds
  // another run (with the differences) or something else, or cannot be made. With `restart` a run that is there, of
  // whatever configuration, counts as none.
  RunFolder(std::string path, Configuration config, bool restart = false);

  bool finished() const { return finished_; }
  const std::string& path() const { return path_; }
  std::string file(const std::string& name) const { return path_ + "/" + name; }

  // Makes the folder and keeps other processes out of it.
  void take();
  // Writes config.toml. Goes on with the metrics of an interrupted run from `round` on; 0 begins anew.
  void begin(int64_t round = 0);
  void add_metrics(const nlohmann::json& object);
  void add_summary(const nlohmann::json& summary);
  // Writes the mark of a finished run.
  void finish();
  // The summary of a finished run.
  nlohmann::json summary() const;

 private:
  std::string path_;
  Configuration config_;
  bool restart_, finished_ = false;
  std::unique_ptr<FolderLock> lock_;
  std::ofstream metrics_;
};

// The model that `path` stands for: itself if it is a file or a folder of the research scripts, or that of a run
// folder. An InputError if the run is not finished.
std::string model_path(const std::string& path);

// The target that a run folder's configuration names.
std::string target_of_run(const std::string& path);

}  // namespace tributary
