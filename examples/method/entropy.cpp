// Entropy minimisation, a minimal adaptation method: every source becomes more certain about the target pictures.
// Predictions are averaged.
#include "tributary/adapt/information.h"
#include "tributary/device/accelerator.h"
#include "tributary/methods/registry.h"
#include "tributary/train/sgd.h"

namespace tributary {
namespace {

// Trains one source. A step may be captured in a CUDA graph, so it only uses tensors on the device.
class EntropyLearner : public Learner {
 public:
  EntropyLearner(SourceModel& source, bool mixed, Sgd optimiser)
      : source_(source), mixed_(mixed), optimiser_(std::move(optimiser)) {
    freeze(source_.classifier_parameters());
  }

  std::vector<std::string> losses() const override { return {"entropy"}; }

  NamedTensors state() const override { return optimiser_.state(); }

  Tensor step(const TargetBatch& batch) override {
    Tensor logits;
    {
      const MixedPrecision precision(mixed_, batch.pixels.device());
      const Tensor x = normalise(batch.pixels, source_.info().normalisation);
      logits = source_.classify(source_.features(x, &batch.dropout_stream.front())).to(torch::kFloat32);
    }
    const Tensor loss = entropy(logits.softmax(1)).mean();
    optimiser_.zero_gradients();
    loss.backward();
    optimiser_.step(batch.rate_factor);
    return loss.detach().view({1});
  }

 private:
  SourceModel& source_;
  bool mixed_;
  Sgd optimiser_;
};

// Defines the training schedule and creates one learner per source.
class EntropyMinimisation : public LearnedMethod {
 public:
  EntropyMinimisation(const MethodOptions& common, double rate) : common_(common), rate_(rate) {}

 protected:
  TrainingSchedule schedule(const Ensemble& ensemble, int64_t) const override {
    return common_.schedule(ensemble, /*own_batch=*/64, /*own_epochs=*/10);
  }

  std::vector<std::unique_ptr<Learner>> learners(Ensemble& ensemble, const DeviceImages&,
                                                 const TrainingSchedule& schedule) override {
    std::vector<std::unique_ptr<Learner>> all;
    for (SourceModel& source : ensemble.sources) {
      Sgd optimiser({{source.bottleneck_parameters(), common_.bottleneck_rate(rate_)}}, {});
      all.push_back(std::make_unique<EntropyLearner>(source, is_mixed(schedule.precision), std::move(optimiser)));
    }
    return all;
  }

 private:
  MethodOptions common_;
  double rate_;
};

}  // namespace

MethodEntry entropy_method() {
  const auto rate = std::make_shared<double>(1e-3);
  return {"entropy", "Entropy", "more certain predictions, each source on its own",
          [rate](OptionTable& table) {
            table.number("entropy", "entropy_rate", rate.get(), 0, 10, "learning rate of entropy minimisation");
          },
          [rate](const MethodOptions& common) { return std::make_unique<EntropyMinimisation>(common, *rate); }};
}

}  // namespace tributary
