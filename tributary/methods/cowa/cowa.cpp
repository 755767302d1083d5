// CoWA-JMDS (Lee et al., ICML 2022; docs/baselines.md, CoWA-JMDS): each source by itself, with a weight for every
// pseudo-label.
//
// Before every epoch a Gaussian mixture over the features labels the target set and says how far each label can be
// trusted (joint_score.h). Pictures, labels and weights are then mixed (weight_mixup.h). Nothing else keeps the classes
// apart. The adapted sources' probabilities are averaged.
#include <algorithm>

#include "tributary/benchmarks/hyper_parameters.h"
#include "tributary/device/accelerator.h"
#include "tributary/methods/baselines.h"
#include "tributary/methods/cowa/joint_score.h"
#include "tributary/methods/cowa/weight_mixup.h"
#include "tributary/methods/shot/centroids.h"
#include "tributary/train/sampler.h"
#include "tributary/train/sgd.h"

namespace tributary {
namespace {

struct CowaOptions {
  double alpha = -1;     // negative: the benchmark's own
  int64_t warm_up = -1;  // in epochs; negative: the benchmark's own
  double epsilon = 0;    // 0: the benchmark's own
  JointScoreOptions score;
  bool freeze_classifier = false;
  bool batch_augment = false;
};

// How one source is adapted, with defaults resolved.
struct CowaPlan {
  JointScoreOptions score;
  double alpha = 0;
  int64_t warm_up = 0;  // in steps
  bool freeze_classifier = false;
  bool mixed = false;
};

class CowaLearner : public Learner {
 public:
  CowaLearner(SourceModel& source, size_t index, int64_t pictures, const CowaPlan& plan, Sgd optimiser)
      : source_(source), index_(index), plan_(plan), optimiser_(std::move(optimiser)) {
    const auto device = at::device(source.device());
    const auto classes = static_cast<int64_t>(source.info().classes.size());
    labels_ = torch::zeros({pictures}, device.dtype(torch::kInt64));
    confidence_ = torch::zeros({pictures}, device.dtype(torch::kFloat32));
    if (plan_.alpha == 0) soft_ = torch::zeros({pictures, classes}, device.dtype(torch::kFloat32));
    facts_ = torch::zeros({kFacts}, device.dtype(torch::kFloat32));
    if (plan_.freeze_classifier)
      freeze(source_.classifier_parameters());
    else
      unfreeze(source_.classifier_parameters());
  }

  std::vector<std::string> losses() const override {
    return {"weight_mixup", "confidence", "median_confidence", "effective_samples", "relabelled",
            "live_classes", "jitter"};
  }

  double mixup_alpha() const override { return plan_.alpha; }

  NamedTensors state() const override {
    NamedTensors memory = {{"labels", labels_}, {"confidence", confidence_}, {"facts", facts_}};
    if (soft_.defined()) memory.push_back({"soft", soft_});
    return joined_state({{"optimiser", optimiser_.state()}, {"memory", memory}});
  }

  void begin_round(int64_t, const std::vector<Outputs>& target) override {
    torch::NoGradGuard no_grad;
    const Outputs& own = target[index_];
    const JointScore found = joint_score(own.features, own.logits.to(torch::kFloat64).softmax(1), plan_.score);
    labels_.copy_(found.label);
    confidence_.copy_(found.confidence);
    if (soft_.defined()) soft_.copy_(found.responsibilities);
    const auto number = [&](double value) { return torch::full({}, value, found.confidence.options()); };
    facts_.copy_(at::stack({found.confidence.mean(), found.confidence.median(), effective_samples(found.confidence),
                            found.label.ne(own.logits.argmax(1)).to(torch::kFloat64).mean(),
                            number(static_cast<double>(found.live_classes)), number(found.jitter)}));
  }

  Tensor step(const TargetBatch& batch) override {
    Tensor pixels = batch.pixels;
    Tensor weight = confidence_.index_select(0, batch.rows);
    Tensor target = plan_.alpha > 0 ? hard_weights(labels_.index_select(0, batch.rows), class_count())
                                    : soft_.index_select(0, batch.rows);
    if (plan_.alpha > 0)
      for (Tensor* part : {&pixels, &weight, &target}) *part = mix_rows(*part, batch.partner, batch.ratio);
    Tensor logits;
    {
      const MixedPrecision precision(plan_.mixed, pixels.device());
      const Tensor x = normalise(pixels, source_.info().normalisation);
      logits = source_.classify(source_.features(x, &batch.dropout_stream.front())).to(torch::kFloat32);
    }
    const Tensor loss = weighted_soft_cross_entropy(logits.softmax(1), target, weight);
    optimiser_.zero_gradients();
    (warm_up_factor(batch.progress, plan_.warm_up) * loss).backward();
    optimiser_.step(batch.rate_factor);
    return at::cat({loss.detach().view({1}), facts_});
  }

 private:
  static constexpr int64_t kFacts = 6;

  int64_t class_count() const { return static_cast<int64_t>(source_.info().classes.size()); }

  SourceModel& source_;
  size_t index_;
  CowaPlan plan_;
  Sgd optimiser_;
  Tensor labels_;      // int64 [n]
  Tensor confidence_;  // float [n]
  Tensor soft_;        // float [n, K], the targets without mixup; else undefined
  Tensor facts_;       // float [kFacts], for the log
};

class Cowa : public LearnedMethod {
 public:
  Cowa(const MethodOptions& common, const CowaOptions& options) : common_(common), options_(options) {}

  TrainingSchedule schedule(const Ensemble& ensemble, int64_t) const override {
    TrainingSchedule schedule = common_.schedule(ensemble, /*default_batch=*/64, hyper_parameters(ensemble).epochs);
    schedule.decay = false;
    schedule.one_draw_per_batch = options_.batch_augment;
    return schedule;
  }

 protected:
  std::vector<std::unique_ptr<Learner>> learners(Ensemble& ensemble, const DeviceImages& images,
                                                 const TrainingSchedule& schedule) override {
    const CowaHyperParameters own = hyper_parameters(ensemble);
    CowaPlan plan;
    plan.score = options_.score;
    plan.score.epsilon = own.epsilon;
    plan.alpha = own.alpha;
    plan.warm_up = own.warm_up * batches_per_epoch(images.size(), std::min(schedule.batch, images.size()));
    plan.freeze_classifier = options_.freeze_classifier;
    plan.mixed = is_mixed(schedule.precision);
    std::vector<std::unique_ptr<Learner>> all;
    for (SourceModel& source : ensemble.sources) {
      const double rate = common_.bottleneck_rate(own.rate_bottleneck);
      std::vector<SgdGroup> groups = {
          backbone_group(source, common_.backbone, common_.backbone_rate(own.rate_backbone)),
          {source.bottleneck_parameters(), rate}};
      if (!plan.freeze_classifier) groups.push_back({source.classifier_parameters(), rate / 10});
      all.push_back(
          std::make_unique<CowaLearner>(source, all.size(), images.size(), plan, Sgd(std::move(groups), SgdOptions())));
    }
    return all;
  }

 private:
  // Those of the benchmark, replaced by those that the user gave.
  CowaHyperParameters hyper_parameters(const Ensemble& ensemble) const {
    CowaHyperParameters own = cowa_hyper_parameters(common_.benchmark, for_photographs(ensemble));
    if (options_.alpha >= 0) own.alpha = options_.alpha;
    if (options_.warm_up >= 0) own.warm_up = options_.warm_up;
    if (options_.epsilon > 0) own.epsilon = options_.epsilon;
    return own;
  }

  MethodOptions common_;
  CowaOptions options_;
};

void declare(OptionTable& table, CowaOptions& options) {
  const std::string section = "cowa";
  table.number(section, "cowa_alpha", &options.alpha, -1, 1e3,
               "mixup ratios of CoWA are drawn from Beta(alpha, alpha); 0 mixes nothing and trains on soft labels, -1 "
               "takes the benchmark's own, 2 for digits");
  table.integer(section, "cowa_warm_up", &options.warm_up, -1, 100000,
                "epochs in which the loss hardly counts; -1 takes 1 for digits and 0 for photographs");
  table.choice(section, "cowa_score", &options.score.score,
               {{"jmds", ConfidenceScore::kJmds},
                {"lpg", ConfidenceScore::kLpg},
                {"ppl", ConfidenceScore::kPpl},
                {"none", ConfidenceScore::kNone}},
               "weight of a pseudo-label: both witnesses, the clusters' alone, the model's alone, or 1");
  table.flag(section, "cowa_cosine", &options.score.cosine, "fit the mixture to features of length one");
  table.number(section, "cowa_epsilon", &options.epsilon, 0, 1e-2,
               "added to the diagonal of covariances; 0 takes 1e-6, on DomainNet 1e-5");
  table.number(section, "cowa_gap_quantile", &options.score.gap_quantile, 0.5, 1,
               "gaps between clusters are divided by this quantile of them, so that an outlier cannot shrink all "
               "others; 1 is the largest");
  table.flag(section, "cowa_freeze_classifier", &options.freeze_classifier, "keep the classifiers as they are");
  table.flag(section, "cowa_batch_augment", &options.batch_augment,
             "one crop and one flip for a whole batch, as the released code does");
}

}  // namespace

MethodEntry cowa_method() {
  const auto options = std::make_shared<CowaOptions>();
  return {"cowa", "CoWA-JMDS", "pseudo-labels weighted by model and clusters, mixed, each source by itself",
          [options](OptionTable& table) { declare(table, *options); },
          [options](const MethodOptions& common) { return std::make_unique<Cowa>(common, *options); }};
}

}  // namespace tributary
