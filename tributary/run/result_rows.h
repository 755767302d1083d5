// The outputs of a run's result on the target set, of which every rank keeps its own rows.
//
// The first rank estimates how good the result is and writes its predictions. For what needs all rows it asks the other
// ranks, which serve its requests until it is done.
#pragma once

#include <functional>

#include "tributary/comm/row_block.h"
#include "tributary/model/ensemble.h"
#include "tributary/run/predictions.h"

namespace tributary {

class ResultRows {
 public:
  // From the logits [m, n, K] of all members of `ensemble` and the probabilities [n, K] of their mixture, own rows.
  ResultRows(const Ensemble& ensemble, Tensor logits, Tensor probabilities, RowBlock rows);

  // Of all pictures, on the host. Collective: every rank calls it.
  struct Columns {
    Tensor label, confidence;  // int64 [n] and float [n], of the mixture
    // Of all members but a student:
    Tensor votes, others;     // int64 [m, n]: their labels, and those of all but each (adapt/witness.h)
    Tensor plain_confidence;  // float [n], of the plain mean of their probabilities
  };
  Columns columns() const;

  // On the first rank, while the others serve: the temperature at which the mean confidence of the mixture is
  // `accuracy`, and the predictions at a temperature.
  double temperature_for(double accuracy) const;
  PredictedLabels predictions(double temperature) const;
  // The answer of `Serve::unadapted`, on the first rank, where that is called, too.
  double unadapted_temperature(double accuracy, const std::function<double(double accuracy)>& unadapted) const;
  // Ends serve() on the other ranks.
  void finish() const;

  // Answers the first rank's requests until finish(). `unadapted` is called on every rank at once.
  void serve(const std::function<double(double accuracy)>& unadapted) const;

  const RowBlock& rows() const { return rows_; }

 private:
  enum class Request { kDone, kTemperature, kPredictions, kUnadapted };
  void ask(Request request, double value) const;
  double own_temperature_for(double accuracy) const;
  PredictedLabels own_predictions(double temperature) const;

  const Ensemble& ensemble_;
  Tensor logits_, probabilities_;
  RowBlock rows_;
};

// Gives all ranks the models and the mixture that the first one has.
void share_models(Ensemble& ensemble, Communicator& comm);

}  // namespace tributary
