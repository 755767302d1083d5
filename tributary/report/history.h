// What a report needs of every round, kept in the run folder as history/ROUND.safetensors.
//
// Labels are not in it. A report can be made at any time, and those who have labels then compare them with what was
// believed in each round; the adaptation need not know them.
#pragma once

#include <string>
#include <vector>

#include "tributary/artefacts/run_folder.h"
#include "tributary/methods/observer.h"

namespace tributary {

// One round; 0 is the state before any training. All tensors are on the CPU.
struct RoundHistory {
  int64_t round = 0;
  Tensor label;                         // int64 [n], the mixture's class
  Tensor pseudo_label;                  // int64 [n], after denoising (Eq. 9); undefined for methods that do not
  Tensor confidence;                    // float [n], of the pseudo-label, or of the mixture where there is none
  Tensor confident;                     // bool [n], what the round was trained on; undefined in round 0
  Tensor source_label;                  // int64 [m, n], each source's own class
  Tensor sample;                        // int64 [s], the pictures whose features are kept, ascending
  Tensor features;                      // float [s, d], of all sources together, their principal components
  std::vector<Tensor> source_features;  // float [s, d_j], of each source alone
};

struct History {
  std::vector<std::string> classes, sources;  // names
  std::string device;
  int64_t joint_width = 0;  // of all sources' features together, of which the rounds keep fewer; 0: not known
  std::vector<RoundHistory> rounds;
};

struct HistoryOptions {
  int64_t sample = 5000;        // pictures whose features are kept in every round
  int64_t last_sample = 50000;  // and in the last
  int64_t width = 50;           // components of all sources together
  int64_t source_width = 16;    // and of each alone
};

class HistoryObserver : public Observer {
 public:
  HistoryObserver(const RunFolder& folder, HistoryOptions options) : folder_(folder), options_(options) {}
  void on_round(const RoundEvent& event) override;

 private:
  void begin(const Ensemble& ensemble) const;

  const RunFolder& folder_;
  HistoryOptions options_;
};

// Every round of a run folder in order; an InputError where there is none, or one is damaged.
History read_history(const std::string& run);

}  // namespace tributary
