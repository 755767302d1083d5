// The observers of a run on several ranks.
//
// The first rank alone has the run folder and most observers. Where ranks divide the rows of the target set, no rank
// has the tensors of a round whole: all of them compute the figures of a round together, and those observers that need
// more than these observe on every rank.
#pragma once

#include <optional>
#include <vector>

#include "tributary/methods/round_figures.h"
#include "tributary/report/history.h"

namespace tributary {

class SharedRounds : public Observer {
 public:
  struct Listeners {
    std::vector<Observer*> everywhere;  // on every rank
    std::vector<Observer*> by_rows;     // on every rank if rows are divided, else on the first
    std::vector<Observer*> own;         // of this rank alone, after the others
  };
  // With `history`, the figures have its sample of the features.
  SharedRounds(Listeners listeners, bool first, std::optional<HistoryOptions> history);

  void on_step(const StepEvent& event) override;
  void on_round(const RoundEvent& event) override;
  void save(nlohmann::json& state) const override { all_.save(state); }
  void restore(const nlohmann::json& state) override { all_.restore(state); }
  NamedTensors tensors() const override { return all_.tensors(); }
  void restore_tensors(const NamedTensors& tensors) override { all_.restore_tensors(tensors); }
  bool wants_stop() const override { return all_.wants_stop(); }

  // The predictions of the last round; none while a later one trains.
  struct Outputs {
    RowBlock rows;
    Tensor logits, probabilities;  // [m, n, K] and [n, K], own rows
  };
  const Outputs& last() const { return last_; }

 private:
  Listeners listeners_;
  Observers all_;
  bool first_;
  std::optional<HistoryOptions> history_;
  Outputs last_;
};

}  // namespace tributary
