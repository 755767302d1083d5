#include "tributary/run/result_rows.h"

#include "tributary/adapt/witness.h"
#include "tributary/estimate/temperature.h"

namespace tributary {
namespace {

Tensor gathered(const Tensor& own, const RowBlock& rows, int64_t dim = 0) {
  return rows.gather(own, dim).cpu().contiguous();
}

}  // namespace

ResultRows::ResultRows(const Ensemble& ensemble, Tensor logits, Tensor probabilities, RowBlock rows)
    : ensemble_(ensemble), logits_(std::move(logits)), probabilities_(std::move(probabilities)), rows_(rows) {}

ResultRows::Columns ResultRows::columns() const {
  const torch::NoGradGuard no_grad;
  const auto [confidence, label] = probabilities_.max(-1);
  Columns columns;
  columns.label = gathered(label, rows_);
  columns.confidence = gathered(confidence.to(torch::kFloat32), rows_);
  const Tensor logits = ensemble_.without_student(logits_);
  const WitnessRule own(logits, ensemble_.without_student(ensemble_.known()));
  columns.votes = gathered(own.labels().to(logits.device()), rows_, 1);
  columns.others = gathered(own.others().to(logits.device()), rows_, 1);
  columns.plain_confidence = gathered(std::get<0>(logits.to(torch::kFloat32).softmax(-1).mean(0).max(-1)), rows_);
  return columns;
}

void ResultRows::ask(Request request, double value) const {
  if (!rows_.divided()) return;
  Tensor message = torch::tensor({static_cast<double>(request), value}, torch::kFloat64);
  rows_.comm()->broadcast(message, 0);
}

double ResultRows::own_temperature_for(double accuracy) const {
  return temperature_for_confidence(probabilities_, accuracy, rows_);
}

PredictedLabels ResultRows::own_predictions(double temperature) const {
  const torch::NoGradGuard no_grad;
  const auto [confidence, label] = tempered(probabilities_, temperature).max(-1);
  return {gathered(label, rows_), gathered(confidence.to(torch::kFloat32), rows_),
          gathered(own_logits(logits_, ensemble_.known()).argmax(-1), rows_, 1)};
}

double ResultRows::temperature_for(double accuracy) const {
  ask(Request::kTemperature, accuracy);
  return own_temperature_for(accuracy);
}

PredictedLabels ResultRows::predictions(double temperature) const {
  ask(Request::kPredictions, temperature);
  return own_predictions(temperature);
}

double ResultRows::unadapted_temperature(double accuracy,
                                         const std::function<double(double accuracy)>& unadapted) const {
  ask(Request::kUnadapted, accuracy);
  return unadapted(accuracy);
}

void ResultRows::finish() const {
  ask(Request::kDone, 0);
}

void ResultRows::serve(const std::function<double(double accuracy)>& unadapted) const {
  for (;;) {
    Tensor message = torch::zeros({2}, torch::kFloat64);
    rows_.comm()->broadcast(message, 0);
    const auto value = message[1].item<double>();
    switch (static_cast<Request>(message[0].item<double>())) {
      case Request::kDone:
        return;
      case Request::kTemperature:
        own_temperature_for(value);
        break;
      case Request::kPredictions:
        own_predictions(value);
        break;
      case Request::kUnadapted:
        unadapted(value);
        break;
    }
  }
}

void share_models(Ensemble& ensemble, Communicator& comm) {
  NamedTensors state = ensemble.state();
  for (NamedTensor& tensor : state) tensor.owner = -1;
  broadcast_state(comm, state);
  Mixture& mixture = ensemble.mixture;
  Tensor rule = torch::tensor({static_cast<int64_t>(mixture.rule), int64_t{mixture.weights.defined()}}, torch::kInt64);
  comm.broadcast(rule, 0);
  mixture.rule = static_cast<Combination>(rule[0].item<int64_t>());
  if (rule[1].item<int64_t>() == 0) {
    mixture.weights = Tensor();
    return;
  }
  Tensor weights = comm.first() ? mixture.weights.to(torch::kCPU, torch::kFloat32).contiguous().clone()
                                : torch::zeros({ensemble.size()}, torch::kFloat32);
  comm.broadcast(weights, 0);
  mixture.weights = weights.to(ensemble.sources.front().device());
}

}  // namespace tributary
