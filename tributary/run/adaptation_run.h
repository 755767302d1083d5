// One adaptation from files to files: loads the sources and the target, adapts, and fills the run folder.
//
// The run resumes from a checkpoint if there is one, retries with micro-batches if the GPU runs out of memory, and
// saves the unadapted model beside the adapted one if the verdict is not to use the latter (result_estimate.h). With
// KeepRule::kLabelFree it hands back the latest round that was not rejected (run/kept_round.h).
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "tributary/artefacts/run_folder.h"
#include "tributary/data/label_file.h"
#include "tributary/data/load.h"
#include "tributary/methods/registry.h"
#include "tributary/model/pass_memory.h"
#include "tributary/model_io/import_weights.h"
#include "tributary/model_io/student.h"
#include "tributary/run/distributed_session.h"
#include "tributary/run/kept_round.h"
#include "tributary/run/result_estimate.h"
#include "tributary/run/run_listener.h"
#include "tributary/run/run_outputs.h"
#include "tributary/run/run_record.h"
#include "tributary/run/shared_rounds.h"

namespace tributary {

struct AdaptationRunOptions {
  std::vector<std::string> sources;  // model files, and score files (io/score_file.h)
  std::string target;                // unlabelled pictures
  PictureArray target_array;         // the same in memory; `target` is then its name
  std::string folder;                // of the run
  std::string test;                  // labelled pictures to report the accuracy on; may be empty
  PictureArray test_array;           // the same in memory; `test` is then its name
  std::vector<int64_t> test_labels;  // of `test_array`
  std::string labels;                // of some target pictures, to train on (data/label_file.h); may be empty
  std::string oracle_labels;  // labels of the target pictures (match_labels.h), for the method's oracle; may be empty
  MethodEntry method;
  MethodOptions method_options;
  int64_t batch = 64;                      // pictures per batch before micro-batches are tried
  Recompute recompute = Recompute::kNone;  // before more is tried
  ImportOptions import;
  StudentOptions student;  // of score files
  LoadOptions load;        // its preprocessing is replaced by that of the sources
  RunOutputOptions outputs;
  CheckpointOptions checkpoints;
  KeepRule keep = KeepRule::kAuto;  // which round is the result
  EstimateOptions estimate;
  torch::Device device = torch::kCPU;
};

struct AdaptationRunResult {
  nlohmann::json summary;         // contents of summary.json
  bool already_finished = false;  // the folder held the finished run
};

// Declares `keep` in the section [adapt].
void declare_keep(OptionTable& table, KeepRule& keep);

class AdaptationRun {
 public:
  // `config` identifies the run: a folder with another configuration is refused.
  AdaptationRun(AdaptationRunOptions options, Configuration config, DistributedSession& session, RunListener& listener);

  // Returns nothing on ranks other than the first. InputErrors come before the first file is written.
  std::optional<AdaptationRunResult> run();

 private:
  struct Data {
    ImageSet target;
    std::vector<SkippedPicture> skipped;  // pictures of the target
    std::optional<Labels> oracle;
    MatchedRows given;
    std::optional<LabelledImages> test;
  };
  class ObserverState;

  // Throws an InputError if the sources know different classes and the method cannot adapt them.
  void require_class_sets(const Ensemble& sources) const;
  // Throws an InputError if the method trains, and nothing of a source can be: an imported module may be frozen.
  void require_trainable(const Ensemble& sources) const;
  // Throws an InputError if some sources are scores and the method or an option cannot take them.
  void require_scores_usable(const Ensemble& sources) const;
  // Throws an InputError if a student with random weights would have to learn photographs.
  void require_small_pictures(const Ensemble& sources) const;
  // Loads the sources, with a student if one joins; match_scores() finds the rows of score files afterwards.
  Ensemble load_unadapted(std::vector<std::string>* notices = nullptr) const;
  // Finds the rows of the target pictures in the score files.
  void match_scores(Ensemble& sources);
  void load_data(const Ensemble& sources);
  void load_given(const Ensemble& sources);
  // Writes the given labels, so that nobody measures accuracy on them.
  void save_given(const std::string& path, const std::vector<std::string>& classes) const;
  LabelledImages load_labels(const std::string& path, const LoadOptions& options, const Ensemble& sources) const;
  std::unique_ptr<Method> make_method() const;
  KeepRule keep_rule() const;
  // Adapts on a rank other than the first, which alone has the folder.
  void follow(Ensemble ensemble);
  // How the passes of the sources fit into the memory of the device, to which it moves them.
  PassMemory planned_memory(Ensemble& sources) const;
  // Adapts from the latest checkpoint, or from the start, and writes the results. Only the first attempt obeys
  // --restart.
  void attempt(RunFolder& folder, Ensemble ensemble, const PassMemory& memory, bool first);
  // With EstimateKind::kFull: adapts without each source in turn, in folders of their own, and remembers the labels. A
  // finished one is not repeated.
  void leave_sources_out(const Ensemble& sources);
  // The outputs of the result on the target set. `ensemble` has the kept models, which must outlive them.
  ResultRows outputs_of(const RunFolder& folder, const KeptRound& kept, const SharedRounds& rounds,
                        Ensemble& ensemble) const;
  // The same where rows are divided, on every rank. The first one says whether the last round is kept.
  ResultRows shared_outputs(const SharedRounds& rounds, Ensemble& ensemble, bool is_last) const;
  // The logits of all members on the target set, [m, n, K], and the mixture of the sources; own rows.
  std::pair<Tensor, Tensor> predicted_by(Ensemble& ensemble, const RowBlock& rows) const;
  // Saves the mixture before any training, with a confidence that its own estimate calibrates.
  std::string save_unadapted(const RunFolder& folder, const RunRecord& record, const ResultEstimate& estimate,
                             const ResultRows& result) const;
  // The temperature at which the mean confidence of the unadapted mixture is `accuracy`. Where rows are divided, every
  // rank calls it, and those of the first rank are the models.
  double temperature_of(Ensemble& unadapted, double accuracy, const RowBlock& rows) const;
  // Which features the history of the rounds stores, if there is one.
  std::optional<HistoryOptions> history_options() const;
  int64_t resume(const RunFolder& folder, CheckpointFolder& checkpointer, Observers& observers,
                 const ObserverState& state, const Ensemble& ensemble) const;
  nlohmann::json summary_of(const RunRecord& record) const;

  AdaptationRunOptions options_;
  Configuration config_;
  DistributedSession& session_;
  RunListener& listener_;
  Data data_;
  nlohmann::json score_digests_;  // of the score files, on the first rank
  Tensor left_out_;               // int64 [m, n]; undefined unless sources were left out
};

}  // namespace tributary
