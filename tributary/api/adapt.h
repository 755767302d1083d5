// Adapts source models to unlabelled pictures.
#pragma once

#include <string>
#include <vector>

#include "tributary/api/model.h"

namespace tributary {

class Observer;
class RunListener;

// What watches a run. Each may be null and must outlive the call. Exceptions of the first two end the run and reach the
// caller.
struct Hooks {
  Observer* observer = nullptr;     // steps and rounds, with the tensors of the round
  RunListener* listener = nullptr;  // skipped pictures, warnings, resuming
  // Labelled pictures of the target domain, only to show the accuracy after every round. The method never sees them.
  const Pictures* test = nullptr;
};

// A finished run and its folder.
class Run {
 public:
  // Opens the folder of a finished run. `settings` are those of Model.
  explicit Run(std::string folder, Settings settings = {});

  const std::string& folder() const { return folder_; }
  // The contents of summary.json: sources with their weights, rounds, accuracies, warnings.
  const std::string& summary() const { return summary_; }
  // One JSON object per round, round 0 first: the lines of metrics.jsonl.
  std::vector<std::string> rounds() const;
  // The adapted mixture, loaded at the first call.
  const Model& model() const;
  // Writes the report of the run as one HTML page. `target`, the pictures of the run, adds thumbnails; it may be null.
  void report(const std::string& path, const Pictures* target = nullptr) const;

 private:
  std::string folder_, summary_;
  Settings settings_;
  mutable std::shared_ptr<const Model> model_;
};

// Adapts the sources (model files, PyTorch weights, FILE:OPTION=VALUE) to the target and fills `folder`, as `tributary
// adapt` does: the same files, and the same bytes for the same seed. An interrupted run resumes if it is called again
// with the same arguments, and a finished one is returned as it is. `settings` are those of adaptation_options().
Run adapt(const std::vector<std::string>& sources, const Pictures& target, const std::string& folder,
          const Settings& settings = {}, const Hooks& hooks = {});

}  // namespace tributary
