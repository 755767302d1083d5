// The folder of a run: configuration, metrics and results.
//
//   config.toml        all options of the run
//   metrics.jsonl      one object per round
//   model.safetensors  the adapted mixture
//   unadapted.safetensors  the mixture before any training, where it is probably better
//   predictions.csv    predictions for the target pictures
//   given_labels.csv   labels that the user gave to train on, if any
//   summary.json       metrics of the last round
//   history/           data of every round for the report
//   report.html        the report
//   bound.jsonl        the terms of the bound, one object per round
//   events.out.…       curves for TensorBoard
//   checkpoint/        state to resume an unfinished run
//   estimate/          adaptations without single sources (run/result_estimate.h), of an unfinished run
//   DONE               written last
//
// The same command reports a finished run and resumes an unfinished one. Another configuration for the same folder is
// an error.
#pragma once

#include <fstream>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "tributary/base/folder_lock.h"
#include "tributary/base/options.h"

namespace tributary {

class RunFolder {
 public:
  // Checks `path` without changing anything. `config` is the TOML text of this run. Throws an InputError if the folder
  // contains another run (listing the differences) or other files, or cannot be created. With `restart`, an existing
  // run of any configuration is ignored.
  RunFolder(std::string path, Configuration config, bool restart = false);

  bool finished() const { return finished_; }
  const std::string& path() const { return path_; }
  std::string file(const std::string& name) const { return path_ + "/" + name; }

  // Creates and locks the folder, and examines it again: finished() may be true now.
  void lock();
  // Writes config.toml, so that the folder holds this run and no other, and removes the results of an earlier one.
  void claim();
  // Claims the folder and resumes the metrics of an interrupted run at `round`; 0 restarts.
  void start(int64_t round = 0);
  void add_metrics(const nlohmann::json& object);
  void add_summary(const nlohmann::json& summary);
  // Marks the run as finished.
  void finish();
  // Throws a WorkError if the folder was removed or replaced since it was locked.
  void require_there() const;
  // The summary of a finished run.
  nlohmann::json summary() const;
  // No summary.json and no history/run.json of ours is larger, of 100,000 classes and as many skipped pictures.
  static constexpr int64_t kMostJson = int64_t{64} << 20;

 private:
  void examine();

  std::string path_;
  Configuration config_;
  bool restart_, finished_ = false;
  std::unique_ptr<FolderLock> lock_;
  std::ofstream metrics_;
};

// Throws an InputError if an entry of the run folder, or of a subfolder that a run writes, is a link, a device or a
// pipe. Commands that write into the folder of a run, which may come from a stranger, call it first.
void refuse_links_in_run(const std::string& path);

// How the options of the run in a folder differ from `config`, one text per option; empty for the same run, and where
// there is none.
std::vector<std::string> run_differences(const std::string& path, const Configuration& config);

// The model of `path`: the path itself for a file or a folder of the research scripts, else the model of a run folder.
// Throws an InputError if the run is unfinished.
std::string model_path(const std::string& path);

// The target in the configuration of a run folder.
std::string target_of_run(const std::string& path);

}  // namespace tributary
