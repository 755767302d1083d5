// AaD (Yang et al., NeurIPS 2022; docs/baselines.md, AaD): each source by itself, drawn to its neighbours' predictions
// and pushed away from the rest of the batch.
//
// The successor of NRC, with its banks and its search, but without weights of neighbours and without neighbours of
// neighbours. Nothing is frozen. The adapted sources' probabilities are averaged.
#include <algorithm>

#include "tributary/benchmarks/hyper_parameters.h"
#include "tributary/methods/aad/dispersion.h"
#include "tributary/methods/baselines.h"
#include "tributary/methods/nrc/bank_filling.h"
#include "tributary/train/sampler.h"
#include "tributary/train/sgd.h"

namespace tributary {
namespace {

enum class AadSchedule { kOwn, kDecay, kConstant };

struct AadOptions {
  int64_t neighbours = 0, later_neighbours = 0;  // 0: the benchmark's own
  double alpha = 1;
  double beta = -1;  // negative: the benchmark's own
  AadSchedule schedule = AadSchedule::kOwn;
  bool one_sided = false;
  bool whole_batches = false;
};

// The hyper-parameters of a step, with defaults resolved.
struct AadNumbers {
  int64_t neighbours, later_neighbours;
  double alpha, beta;
  bool one_sided;
  int64_t steps;  // in all
};

class AadLearner : public Learner {
 public:
  AadLearner(SourceModel& source, uint64_t index, const DeviceImages& images, const TrainingSchedule& schedule,
             const AadNumbers& numbers, Sgd optimiser)
      : source_(source),
        index_(index),
        images_(images),
        schedule_(schedule),
        numbers_(numbers),
        most_(std::min(std::max(numbers.neighbours, numbers.later_neighbours), images.size() - 1)),
        mixed_(is_mixed(schedule.precision)),
        optimiser_(std::move(optimiser)),
        banks_(images.size(), source.info().feature_width, static_cast<int64_t>(source.info().classes.size()),
               images.device()) {
    unfreeze(source_.classifier_parameters());
  }

  std::vector<std::string> losses() const override { return {"attraction", "dispersion", "lambda"}; }

  NamedTensors state() const override {
    return joined_state(
        {{"optimiser", optimiser_.state()}, {"banks", {{"features", banks_.features}, {"scores", banks_.scores}}}});
  }

  void begin_round(int64_t round, const std::vector<Outputs>&) override {
    if (round == 1) fill_banks(banks_, source_, index_, images_, schedule_);
  }

  Tensor step(const TargetBatch& batch) override {
    const auto [phi, logits] = features_and_logits(source_, batch.pixels, &batch.dropout_stream.front(), mixed_);
    const Tensor probabilities = logits.softmax(1);
    // Written before the search, so that the batch is found as it is now.
    banks_.write(batch.rows, phi.detach(), probabilities.detach());
    // Always the largest number of neighbours, so that a step has the same shapes from beginning to end.
    const Tensor near = nearest_rows(banks_.features, batch.rows, most_);
    const Tensor count = count_now(batch.progress, numbers_.steps, numbers_.neighbours, numbers_.later_neighbours);
    const Tensor counted = (torch::arange(most_, count.options()) < count).to(torch::kFloat32);
    const Tensor scores =
        banks_.scores.index_select(0, near.view({-1})).view({near.size(0), most_, banks_.scores.size(1)});

    const Tensor attracting = attraction(probabilities, scores, counted);
    const Tensor dispersing = dispersion(probabilities, numbers_.one_sided);
    const Tensor lambda = dispersion_weight(batch.progress, numbers_.steps, numbers_.alpha, numbers_.beta);
    optimiser_.zero_gradients();
    (attracting + lambda * dispersing).backward();
    optimiser_.step(batch.rate_factor);
    return at::stack({attracting.detach(), dispersing.detach(), lambda});
  }

 private:
  SourceModel& source_;
  uint64_t index_;
  const DeviceImages& images_;
  const TrainingSchedule& schedule_;
  AadNumbers numbers_;
  int64_t most_;  // neighbours that a step searches
  bool mixed_;
  Sgd optimiser_;
  NeighbourBanks banks_;
};

class Aad : public LearnedMethod {
 public:
  Aad(const MethodOptions& common, const AadOptions& options) : common_(common), options_(options) {}

  TrainingSchedule schedule(const Ensemble& ensemble, int64_t pictures) const override {
    const AadHyperParameters own = hyper_parameters(ensemble, pictures);
    TrainingSchedule schedule = common_.schedule(ensemble, /*default_batch=*/64, own.epochs);
    schedule.decay = own.decay;
    schedule.whole_batches = options_.whole_batches;
    // The default number, set here because lambda and the neighbours depend on it.
    const int64_t batch = std::min(schedule.batch, pictures);
    schedule.steps = schedule.rounds * (options_.whole_batches ? pictures / batch : batches_per_epoch(pictures, batch));
    return schedule;
  }

 protected:
  std::vector<std::unique_ptr<Learner>> learners(Ensemble& ensemble, const DeviceImages& images,
                                                 const TrainingSchedule& schedule) override {
    const AadHyperParameters own = hyper_parameters(ensemble, images.size());
    SgdOptions sgd;
    sgd.weight_decay = own.decay ? 1e-3 : 5e-4;
    const AadNumbers numbers{own.neighbours, own.later_neighbours, options_.alpha,
                             own.beta,       options_.one_sided,   schedule.steps};
    std::vector<std::unique_ptr<Learner>> all;
    for (SourceModel& source : ensemble.sources) {
      const double head = common_.bottleneck_rate(1e-3);
      Sgd optimiser({backbone_group(source, common_.backbone, common_.backbone_rate(1e-4)),
                     {source.bottleneck_parameters(), head},
                     {source.classifier_parameters(), head}},
                    sgd);
      all.push_back(std::make_unique<AadLearner>(source, all.size(), images, schedule, numbers, std::move(optimiser)));
    }
    return all;
  }

 private:
  // Those of the benchmark, replaced by those that the user gave.
  AadHyperParameters hyper_parameters(const Ensemble& ensemble, int64_t pictures) const {
    AadHyperParameters own = aad_hyper_parameters(common_.benchmark, for_photographs(ensemble),
                                                  static_cast<int64_t>(ensemble.classes().size()), pictures);
    if (options_.neighbours > 0) own.neighbours = own.later_neighbours = options_.neighbours;
    if (options_.later_neighbours > 0) own.later_neighbours = options_.later_neighbours;
    if (options_.beta >= 0) own.beta = options_.beta;
    if (options_.schedule != AadSchedule::kOwn) own.decay = options_.schedule == AadSchedule::kDecay;
    return own;
  }

  MethodOptions common_;
  AadOptions options_;
};

void declare(OptionTable& table, AadOptions& options) {
  const std::string section = "aad";
  constexpr int64_t kMost = 1000;
  table.integer(section, "aad_neighbours", &options.neighbours, 0, kMost,
                "neighbours that attract a picture in AaD; 0 takes the benchmark's own, 5 for digits");
  table.integer(section, "aad_later_neighbours", &options.later_neighbours, 0, kMost,
                "neighbours in the second half of all steps; 0 takes the benchmark's own, or no change");
  table.number(section, "aad_alpha", &options.alpha, 0, 1e6, "weight of AaD's dispersion at the first step");
  table.number(section, "aad_beta", &options.beta, -1, 100,
               "how fast the dispersion fades, (1 + 10 i/I)^-beta; -1 takes the benchmark's own, or 5, 1 or 0 by the "
               "number of classes");
  table.choice(section, "aad_schedule", &options.schedule,
               {{"own", AadSchedule::kOwn}, {"decay", AadSchedule::kDecay}, {"constant", AadSchedule::kConstant}},
               "learning rate: (1 + 10 i/I)^-0.75 with weight decay 1e-3, constant with 5e-4, or the benchmark's own");
  table.flag(section, "aad_one_sided", &options.one_sided,
             "detach one factor of AaD's dispersion, which halves its gradient");
  table.flag(section, "aad_whole_batches", &options.whole_batches,
             "drop the partial batch at the end of an epoch, which has less dispersion than a whole one");
}

}  // namespace

MethodEntry aad_method() {
  const auto options = std::make_shared<AadOptions>();
  return {"aad", "AaD", "neighbours attract and the rest of a batch disperses, each source by itself",
          [options](OptionTable& table) { declare(table, *options); },
          [options](const MethodOptions& common) { return std::make_unique<Aad>(common, *options); }};
}

}  // namespace tributary
