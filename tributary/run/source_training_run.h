// Trains one source model from files to a file: loads labelled pictures, trains, and writes the model.
//
// The run resumes from a checkpoint beside the model file if there is one, and retries with micro-batches if the GPU
// runs out of memory. It does not repeat or overwrite a finished training unasked (finished_model.h).
#pragma once

#include <optional>
#include <string>

#include "tributary/data/load.h"
#include "tributary/model_io/import_weights.h"
#include "tributary/run/distributed_session.h"
#include "tributary/run/run_listener.h"
#include "tributary/train/source_training.h"

namespace tributary {

struct SourceTrainingRunOptions {
  std::string data;        // labelled pictures
  std::string validation;  // labelled pictures of the same domain; empty: a part of `data`
  std::string out;         // model file to write
  std::string name;        // of the source; empty: after the path of `data`
  std::string classes;     // text file with class names; empty: those of `data`, or numbers
  std::string init;        // initial weights of the backbone; empty: random
  ImportOptions import;    // network and preprocessing
  LoadOptions load;        // its preprocessing is replaced by that of the network
  SourceTrainingOptions training;
  Recompute recompute = Recompute::kNone;  // before more is tried
  CheckpointOptions checkpoints;
  uint64_t seed = 0;
  torch::Device device = torch::kCPU;
};

struct SourceTrainingRunResult {
  std::string model;  // the file
  std::string name, architecture;
  int64_t classes = 0;
  int64_t pictures = 0, validation_pictures = 0;
  double validation_accuracy = 0;  // in 0..1
  PassMemory memory{};             // after running out of GPU memory
  int64_t gpu_peak_bytes = 0;      // peak memory of this process on the GPU; 0 on a CPU
  bool already_finished = false;   // an earlier run with the same options trained the model
};

// On a GPU: the file that holds gpu_peak_bytes, the peak memory of the process that trains `model`, from the first
// validation to the end of the training. Others can start beside it as soon as they know its size.
std::string training_memory_file(const std::string& model);

class SourceTrainingRun {
 public:
  // `config` identifies the run: checkpoints of a run with another configuration are refused.
  SourceTrainingRun(SourceTrainingRunOptions options, Configuration config, DistributedSession& session,
                    RunListener& listener);

  // Returns nothing on ranks other than the first.
  std::optional<SourceTrainingRunResult> run();

 private:
  // `notice` tells if the network was chosen by the size of the pictures.
  ModelInfo network(const std::optional<WeightFile>& weights, std::string& notice) const;
  std::string network_for_pictures(std::string& notice) const;
  LabelledImages load(const std::string& path, const Preprocessing& preprocessing,
                      const std::vector<std::string>& classes) const;
  void warn_of_domains(const LabelledImages& data) const;
  Split load_split(const Preprocessing& preprocessing) const;
  // Sets the accuracy and the micro-batch of `result`.
  void train(SourceModel& model, const Split& split, SourceTrainingRunResult& result);

  void report_memory();  // once, after the first validation

  SourceTrainingRunOptions options_;
  Configuration config_;
  DistributedSession& session_;
  RunListener& listener_;
  bool memory_reported_ = false;
};

}  // namespace tributary
