// NRC (Yang et al., NeurIPS 2021; docs/baselines.md, NRC): adapts each source separately by pulling predictions towards
// those of neighbours.
//
// There are no pseudo-labels. Every step looks up the neighbours of its pictures in a bank of the whole target set and
// pulls predictions towards theirs; a further term keeps the classes diverse. Nothing is frozen: the classifier is
// trained too. The probabilities of the adapted sources are averaged.
#include <utility>

#include "tributary/benchmarks/hyper_parameters.h"
#include "tributary/methods/baselines.h"
#include "tributary/methods/nrc/bank_filling.h"
#include "tributary/train/sampler.h"
#include "tributary/train/sgd.h"

namespace tributary {
namespace {

enum class NrcSchedule { kOwn, kDecay, kConstant };

// Zero takes the benchmark's number.
struct NrcOptions {
  int64_t neighbours = 0, expanded = 0;
  int64_t later_neighbours = 0, later_expanded = 0;
  NrcSchedule schedule = NrcSchedule::kOwn;
  SelfTerm self = SelfTerm::kAsNeighbour;
};

class NrcLearner : public Learner {
 public:
  NrcLearner(SourceModel& source, uint64_t index, const DeviceImages& images, const TrainingSchedule& schedule,
             const NeighbourSchedule& neighbours, SelfTerm self, Sgd optimiser)
      : source_(source),
        index_(index),
        images_(images),
        schedule_(schedule),
        neighbours_(neighbours),
        self_(self),
        mixed_(is_mixed(schedule.precision)),
        optimiser_(std::move(optimiser)),
        banks_(images.size(), source.info().feature_width, static_cast<int64_t>(source.info().classes.size()),
               images.device()) {
    unfreeze(source_.classifier_parameters());
  }

  std::vector<std::string> losses() const override {
    std::vector<std::string> names = {"neighbours", "expanded", "diversity"};
    if (self_ == SelfTerm::kOwnLoss) names.push_back("self");
    return names;
  }

  NamedTensors state() const override {
    return joined_state(
        {{"optimiser", optimiser_.state()}, {"banks", {{"features", banks_.features}, {"scores", banks_.scores}}}});
  }

  // Fills the banks with the outputs for augmented pictures, in evaluation mode.
  void begin_round(int64_t round, const std::vector<Outputs>&) override {
    if (round != 1) return;
    fill_banks(banks_, source_, index_, images_, schedule_);
  }

  Tensor step(const TargetBatch& batch) override {
    const auto [phi, logits] = features_and_logits(source_, batch.pixels, &batch.dropout_stream.front(), mixed_);
    const Tensor probabilities = logits.softmax(1);
    // Update the banks before the search, so that it finds the batch in its current state.
    banks_.write(batch.rows, phi.detach(), probabilities.detach());
    const Neighbourhood around = find_neighbourhood(banks_.features, batch.rows, neighbours_, batch.progress, self_);
    const ReciprocityLosses losses = reciprocity_losses(banks_.scores, around, probabilities, self_);
    optimiser_.zero_gradients();
    losses.total().backward();
    optimiser_.step(batch.rate_factor);
    std::vector<Tensor> known = {losses.near.detach(), losses.expanded.detach(), losses.diversity.detach()};
    if (self_ == SelfTerm::kOwnLoss) known.push_back(losses.self.detach());
    return at::stack(known);
  }

 private:
  SourceModel& source_;
  uint64_t index_;
  const DeviceImages& images_;
  const TrainingSchedule& schedule_;
  NeighbourSchedule neighbours_;
  SelfTerm self_;
  bool mixed_;
  Sgd optimiser_;
  NeighbourBanks banks_;
};

class Nrc : public LearnedMethod {
 public:
  Nrc(const MethodOptions& common, const NrcOptions& options) : common_(common), options_(options) {}

 protected:
  TrainingSchedule schedule(const Ensemble& ensemble, int64_t pictures) const override {
    const NrcHyperParameters own = hyper_parameters();
    TrainingSchedule schedule = common_.schedule(ensemble, /*default_batch=*/64, own.epochs);
    schedule.decay = own.decay;
    // Set the default number of steps here, because the numbers of neighbours change at half of the steps.
    schedule.steps = schedule.rounds * batches_per_epoch(pictures, schedule.batch);
    return schedule;
  }

  std::vector<std::unique_ptr<Learner>> learners(Ensemble& ensemble, const DeviceImages& images,
                                                 const TrainingSchedule& schedule) override {
    const NrcHyperParameters own = hyper_parameters();
    SgdOptions sgd;
    // The released code's decaying schedule also has its own weight decay.
    sgd.weight_decay = own.decay ? 1e-3 : 5e-4;
    std::vector<std::unique_ptr<Learner>> all;
    for (SourceModel& source : ensemble.sources) {
      const double head = common_.bottleneck_rate(own.rate_head);
      Sgd optimiser({backbone_group(source, common_.backbone, common_.backbone_rate(own.rate_backbone)),
                     {source.bottleneck_parameters(), head},
                     {source.classifier_parameters(), head}},
                    sgd);
      const NeighbourSchedule neighbours{
          {own.near, own.expanded}, {own.later_near, own.later_expanded}, schedule.steps};
      all.push_back(std::make_unique<NrcLearner>(source, all.size(), images, schedule, neighbours, options_.self,
                                                 std::move(optimiser)));
    }
    return all;
  }

 private:
  // The benchmark's numbers, overridden by those that the user gave.
  NrcHyperParameters hyper_parameters() const {
    NrcHyperParameters own = nrc_hyper_parameters(common_.benchmark);
    const bool changes = own.near != own.later_near;
    const auto take = [](int64_t given, int64_t& number) {
      if (given > 0) number = given;
    };
    take(options_.neighbours, own.near);
    take(options_.expanded, own.expanded);
    if (!changes) {
      own.later_near = own.near;
      own.later_expanded = own.expanded;
    }
    take(options_.later_neighbours, own.later_near);
    take(options_.later_expanded, own.later_expanded);
    if (options_.schedule != NrcSchedule::kOwn) own.decay = options_.schedule == NrcSchedule::kDecay;
    return own;
  }

  MethodOptions common_;
  NrcOptions options_;
};

void declare(OptionTable& table, NrcOptions& options) {
  const std::string section = "nrc";
  constexpr int64_t kMost = 1000;
  table.integer(section, "nrc_neighbours", &options.neighbours, 0, kMost,
                "neighbours per picture in NRC; 0 takes the benchmark's number, or 5");
  table.integer(section, "nrc_expanded", &options.expanded, 0, kMost,
                "neighbours of each neighbour; 0 takes the benchmark's number, or 5");
  table.integer(section, "nrc_later_neighbours", &options.later_neighbours, 0, kMost,
                "neighbours per picture in the second half of training; 0 takes the benchmark's number, or no change");
  table.integer(section, "nrc_later_expanded", &options.later_expanded, 0, kMost,
                "neighbours of each neighbour in the second half; 0 takes the benchmark's number, or no change");
  table.choice(
      section, "nrc_schedule", &options.schedule,
      {{"own", NrcSchedule::kOwn}, {"decay", NrcSchedule::kDecay}, {"constant", NrcSchedule::kConstant}},
      "learning rate: (1 + 10 i/I)^-0.75 with weight decay 1e-3, constant with 5e-4, or the benchmark's choice");
  table.choice(
      section, "nrc_self", &options.self, {{"neighbour", SelfTerm::kAsNeighbour}, {"loss", SelfTerm::kOwnLoss}},
      "a picture's own prediction: among its neighbours' neighbours (released code), or a separate loss (paper)");
}

}  // namespace

MethodEntry nrc_method() {
  const auto options = std::make_shared<NrcOptions>();
  return {"nrc", "NRC", "pulls predictions towards those of reciprocal neighbours; adapts each source separately",
          [options](OptionTable& table) { declare(table, *options); },
          [options](const MethodOptions& common) { return std::make_unique<Nrc>(common, *options); }};
}

}  // namespace tributary
