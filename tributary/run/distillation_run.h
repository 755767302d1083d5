// Distils an adapted mixture to one network, from files to a file, and compares the two.
//
// The run resumes from a checkpoint beside the model file if there is one, and retries with micro-batches if the GPU
// runs out of memory.
#pragma once

#include <optional>
#include <string>

#include "tributary/data/load.h"
#include "tributary/model_io/import_weights.h"
#include "tributary/run/distributed_session.h"
#include "tributary/run/run_listener.h"
#include "tributary/train/distillation.h"

namespace tributary {

// Values of DistillationRunOptions::init that are no files.
constexpr const char* kInitFresh = "fresh";
constexpr const char* kInitTeacher = "teacher";

struct DistillationRunOptions {
  std::string model;         // run folder or mixture file
  std::string target;        // unlabelled pictures
  std::string test;          // labelled pictures to report the accuracy on; may be empty
  std::string out;           // model file to write
  std::string name;          // of the student; empty: "student"
  std::string architecture;  // empty: that of the source with the largest weight
  std::string init;  // initial weights: a file, "teacher" or "fresh"; empty: "teacher" for photographs if the networks
                     // are equal, else "fresh"
  ImportOptions import;
  LoadOptions load;  // its preprocessing is replaced by that of the mixture
  DistillationOptions training;
  Recompute recompute = Recompute::kNone;  // before more is tried
  CheckpointOptions checkpoints;
  uint64_t seed = 0;
  torch::Device device = torch::kCPU;
};

// Size, speed and accuracy of a model.
struct ModelMeasurement {
  int64_t networks = 0, parameters = 0, bytes = 0;
  double pictures_per_second = 0;
  std::optional<double> accuracy;  // in 0..1, if there are labels
};

struct DistillationRunResult {
  std::string model, architecture;  // of the student
  int64_t pictures = 0;
  double agreement = 0;  // share of pictures to which both models give the same class
  ModelMeasurement mixture, student;
};

class DistillationRun {
 public:
  // `config` identifies the run: checkpoints of a run with another configuration are refused.
  DistillationRun(DistillationRunOptions options, Configuration config, DistributedSession& session,
                  RunListener& listener);

  // Returns nothing on ranks other than the first.
  std::optional<DistillationRunResult> run();

 private:
  // `notice` tells which network was chosen, if the options name none.
  SourceModel make_student(const Ensemble& teachers, std::string& notice) const;
  void train(SourceModel& student, Ensemble& teachers, const ImageSet& target);
  std::optional<DistillationRunResult> compare(Ensemble& teachers, SourceModel student, const ImageSet& target,
                                               const std::optional<LabelledImages>& test) const;

  DistillationRunOptions options_;
  Configuration config_;
  DistributedSession& session_;
  RunListener& listener_;
  std::string model_file_;
};

}  // namespace tributary
