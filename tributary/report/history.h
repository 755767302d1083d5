// Per-round predictions and features for the report, stored in the run folder as history/ROUND.safetensors.
//
// The history contains no labels, so the adaptation need not know them. A report can be made at any time and then
// compare the history with labels.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "tributary/artefacts/run_folder.h"
#include "tributary/methods/round_figures.h"

namespace tributary {

// One round; 0 is the state before any training. All tensors are on the CPU.
struct RoundHistory {
  int64_t round = 0;
  Tensor label;                         // int64 [n], prediction of the mixture
  Tensor pseudo_label;                  // int64 [n], after denoising (Eq. 9); undefined for methods without it
  Tensor confidence;                    // float [n], of the pseudo-label, or of the mixture's prediction without one
  Tensor confident;                     // bool [n], D_l that the round was trained on; undefined in round 0
  Tensor source_label;                  // int64 [m, n], prediction per source
  Tensor sample;                        // int64 [s], pictures whose features are stored, ascending
  Tensor features;                      // float [s, d], principal components of the joint features
  std::vector<Tensor> source_features;  // float [s, d_j], principal components per source
};

struct History {
  std::vector<std::string> classes, sources;                 // names
  std::map<std::string, std::vector<std::string>> known_by;  // sources, for classes that not all of them know
  std::string device;
  int64_t joint_width = 0;  // width of the joint features before the projection; 0: unknown
  std::vector<RoundHistory> rounds;
  Tensor result_confidence;  // float [n], calibrated, of the mixture's labels in the result; undefined if unknown
};

struct HistoryOptions {
  int64_t sample = 5000;        // pictures whose features are stored per round
  int64_t last_sample = 50000;  // the same for the last round
  int64_t width = 50;           // principal components of the joint features
  int64_t source_width = 16;    // principal components per source

  // The pictures whose features are stored after a round.
  int64_t pictures_of(const RoundEvent& event) const { return event.round == event.rounds ? last_sample : sample; }
};

// Takes the sample of RoundEvent::figures if there is one.
class HistoryObserver : public Observer {
 public:
  HistoryObserver(const RunFolder& folder, HistoryOptions options) : folder_(folder), options_(options) {}
  void on_round(const RoundEvent& event) override;

 private:
  void begin(const Ensemble& ensemble) const;

  const RunFolder& folder_;
  HistoryOptions options_;
};

// Stores History::result_confidence.
void write_result_confidence(const RunFolder& folder, const Tensor& confidence);

// Reads all rounds of a run folder in order. Throws an InputError if there is none or one is damaged.
History read_history(const std::string& run);

}  // namespace tributary
