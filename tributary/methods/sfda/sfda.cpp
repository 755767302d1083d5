// SFDA (Kim et al. 2020, "Domain adaptation without source data"; docs/baselines.md, SFDA): adapts each source
// separately, first with the labels of the source model and then with those of its most certain samples.
//
// Two heads share the adapted features. One keeps predicting the labels of the initial source model. The other learns
// labels from a memory of certain target pictures, rebuilt every hundred steps, if they are reliable
// (methods/sfda/prototype_memory.h). The weight moves from the first to the second during the first half of the steps.
// The result is the adapted backbone with the second head; a head is a bottleneck and a classifier. The probabilities
// of the adapted sources are averaged.
#include <algorithm>

#include "tributary/base/error.h"
#include "tributary/device/accelerator.h"
#include "tributary/methods/baselines.h"
#include "tributary/methods/sfda/prototype_memory.h"
#include "tributary/model/layered_source.h"
#include "tributary/train/sampler.h"
#include "tributary/train/sequential_batches.h"
#include "tributary/train/sgd.h"

namespace tributary {
namespace {

struct SfdaOptions {
  int64_t steps = 0;       // 0: from --epochs if given, else 5000, on DomainNet 20000
  int64_t refresh = 0;     // steps between rebuilds of the memory; 0: 100, on DomainNet at least an epoch
  int64_t prototypes = 0;  // per class, at most; 0: 100, on DomainNet 20
  AbsentClass absent = AbsentClass::kMostProbable;
  bool memory_training = false;  // build and query the memory in training mode
  bool freeze_stem = true;       // for photographs; the released code freezes only the first BatchNorm
};

// A deep copy of a source.
SourceModel twin_of(const SourceModel& source) {
  SourceModel copy(source.info(), std::nullopt);
  copy.to(source.device());
  copy.restore(source.state());
  return copy;
}

// How one source is adapted, with defaults resolved.
struct SfdaPlan {
  SfdaOptions options;
  BackboneTraining backbone;
  double rate_backbone, rate_head;
};

class SfdaLearner : public Learner {
 public:
  SfdaLearner(SourceModel& source, size_t index, const DeviceImages& images, const TrainingSchedule& schedule,
              const SfdaPlan& plan)
      : source_(source),
        first_(twin_of(source)),
        second_head_(twin_of(source)),
        index_(index),
        images_(images),
        schedule_(schedule),
        options_(plan.options),
        memory_(static_cast<int64_t>(source.info().classes.size()), plan.options.prototypes,
                source.layered()->backbone_width(), source.device()),
        optimiser_({backbone_group(source, plan.backbone, plan.rate_backbone),
                    {source.bottleneck_parameters(), plan.rate_head},
                    {source.classifier_parameters(), plan.rate_head},
                    {second_head_.bottleneck_parameters(), plan.rate_head},
                    {second_head_.classifier_parameters(), plan.rate_head}},
                   {0.9, 5e-4, true}) {
    first_.shard(source.sharding());
    freeze(first_.backbone_parameters());
    for (const auto part : {&SourceModel::bottleneck_parameters, &SourceModel::classifier_parameters}) {
      freeze((first_.*part)());
      // Other methods freeze the classifiers of their sources.
      for (NamedTensor& parameter : (source_.*part)()) parameter.value.set_requires_grad(true);
    }
    const std::vector<BatchNorm*> norms = own().network().batch_norms();
    if (options_.freeze_stem && !norms.empty()) {
      stem_ = norms.front();
      stem_was_frozen_ = stem_->frozen;
      stem_->frozen = true;
    }
  }
  ~SfdaLearner() override {
    if (stem_) stem_->frozen = stem_was_frozen_;
  }
  SfdaLearner(const SfdaLearner&) = delete;
  SfdaLearner& operator=(const SfdaLearner&) = delete;

  std::vector<std::string> losses() const override { return {"source_labels", "memory_labels", "believed"}; }
  int64_t dropout_streams() const override { return 2; }  // the source's pass, and the second head's
  int64_t refresh_every() const override { return options_.refresh; }
  NamedTensors state() const override {
    return joined_state({{"second_head", second_head_.state()},
                         {"memory", {{"rows", memory_.rows}, {"count", memory_.count}}},
                         {"optimiser", optimiser_.state()}});
  }

  void refresh(int64_t number) override {
    torch::NoGradGuard no_grad;
    std::vector<Tensor> features, probabilities;
    const auto look = [&](const Tensor& pixels, DropoutStream* dropout_stream) {
      const MixedPrecision precision(is_mixed(schedule_.precision), images_.device());
      const Tensor flat = own().backbone_features(normalise(pixels, source_.info().normalisation), dropout_stream);
      features.push_back(flat.to(torch::kFloat32));
      const Tensor logits = source_.classify(own().bottleneck_features(flat, dropout_stream));
      probabilities.push_back(logits.to(torch::kFloat32).softmax(1));
    };
    if (options_.memory_training)
      training_sweep(static_cast<uint64_t>(number), look);
    else
      evaluation_sweep(look);
    memory_.rebuild(at::cat(features), at::cat(probabilities), options_.absent);
  }

  Tensor step(const TargetBatch& batch) override {
    Tensor flat, seen, source_labels, source_logits, target_logits;
    {
      const MixedPrecision precision(is_mixed(schedule_.precision), batch.pixels.device());
      const Tensor x = normalise(batch.pixels, source_.info().normalisation);
      {
        torch::NoGradGuard no_grad;
        source_labels = first_.classify(first_.features(x)).argmax(1);
        // Queried in the mode in which it was built: dropout would hide the nearest class.
        if (!options_.memory_training) seen = own().backbone_features(x, nullptr);
      }
      flat = own().backbone_features(x, &batch.dropout_stream[0]);
      target_logits = source_.classify(own().bottleneck_features(flat, &batch.dropout_stream[0])).to(torch::kFloat32);
      const Tensor phi = second_head_.layered()->bottleneck_features(flat, &batch.dropout_stream[1]);
      source_logits = second_head_.classify(phi).to(torch::kFloat32);
    }
    const PrototypeLabels labels = prototype_labels(options_.memory_training ? flat : seen, memory_);
    const MemoryLosses losses = memory_losses(source_logits, source_labels, target_logits, labels,
                                              memory_trust(batch.progress, schedule_.steps));
    optimiser_.zero_gradients();
    losses.total.backward();
    optimiser_.step(batch.rate_factor);
    return at::stack({losses.source.detach(), losses.target.detach(), labels.confidence.mean()});
  }

 private:
  LayeredSource& own() { return *source_.layered(); }

  // Calls `look` on batches of unaugmented pictures, in evaluation mode.
  template <typename Look>
  void evaluation_sweep(Look look) {
    const int64_t size = evaluation_batch(images_);
    for (SequentialBatches sweep(images_, size); !sweep.done();) {
      const Tensor pixels = sweep.next();
      const NoAlgorithmSearch quick(pixels.size(0) != size);
      look(pixels, nullptr);
    }
  }

  // Like the released code, calls `look` on shuffled full batches of augmented pictures, with batch statistics and
  // dropout. This also updates the running statistics.
  template <typename Look>
  void training_sweep(uint64_t number, Look look) {
    const int64_t size = std::min(schedule_.batch, images_.size());
    const auto stream = [&](Purpose purpose, uint64_t part) {
      return Random(schedule_.seed, purpose, {index_, number, part});
    };
    Sampler sampler(torch::arange(images_.size()), size, stream(Purpose::kShuffle, 0));
    for (int64_t i = 0; i < images_.size() / size; ++i) {
      const auto part = static_cast<uint64_t>(i);
      DropoutStream dropout_stream(stream(Purpose::kDropout, part), images_.device());
      look(images_.augmented(sampler.next(), schedule_.augmentation, stream(Purpose::kAugment, part)), &dropout_stream);
    }
  }

  SourceModel& source_;      // F_t and H_t
  SourceModel first_;        // F_s and H_s
  SourceModel second_head_;  // H_s2t; its backbone is not used
  uint64_t index_;
  const DeviceImages& images_;
  const TrainingSchedule& schedule_;
  SfdaOptions options_;
  PrototypeMemory memory_;
  Sgd optimiser_;
  BatchNorm* stem_ = nullptr;
  bool stem_was_frozen_ = false;
};

class Sfda : public LearnedMethod {
 public:
  Sfda(const MethodOptions& common, const SfdaOptions& options) : common_(common), options_(options) {}

 protected:
  TrainingSchedule schedule(const Ensemble& ensemble, int64_t pictures) const override {
    TrainingSchedule schedule =
        common_.schedule(ensemble, /*default_batch=*/for_photographs(ensemble) ? 32 : 64, /*default_epochs=*/15);
    schedule.whole_batches = true;
    schedule.first_step = 0;
    schedule.steps = options_.steps > 0   ? options_.steps
                     : common_.epochs > 0 ? common_.epochs * batches(schedule, pictures)
                     : is_large()         ? 20000
                                          : 5000;
    return schedule;
  }

  std::vector<std::unique_ptr<Learner>> learners(Ensemble& ensemble, const DeviceImages& images,
                                                 const TrainingSchedule& schedule) override {
    const bool photographs = for_photographs(ensemble);
    SfdaPlan plan{options_, common_.backbone, common_.backbone_rate(1e-4), common_.bottleneck_rate(1e-3)};
    plan.options.freeze_stem = options_.freeze_stem && photographs;
    if (plan.options.refresh == 0)
      plan.options.refresh = is_large() ? std::max<int64_t>(100, batches(schedule, images.size())) : 100;
    if (plan.options.prototypes == 0) plan.options.prototypes = is_large() ? 20 : 100;
    if (ensemble.classes().size() < 2) input_error("sfda needs at least 2 classes; the sources have 1");
    std::vector<std::unique_ptr<Learner>> all;
    for (SourceModel& source : ensemble.sources) {
      if (!source.layered())
        input_error(
            "sfda needs the backbone features of its sources, which TorchScript does not give; {} is TorchScript",
            source.info().name);
      all.push_back(std::make_unique<SfdaLearner>(source, all.size(), images, schedule, plan));
    }
    return all;
  }

 private:
  // Full batches per epoch.
  static int64_t batches(const TrainingSchedule& schedule, int64_t pictures) {
    return std::max<int64_t>(1, pictures / schedule.batch);
  }
  // DomainNet has a hundred thousand pictures and 345 classes and needs a smaller memory, rebuilt less often.
  bool is_large() const { return common_.benchmark.starts_with("domainnet"); }

  MethodOptions common_;
  SfdaOptions options_;
};

}  // namespace

MethodEntry sfda_method() {
  const auto options = std::make_shared<SfdaOptions>();
  return {"sfda", "SFDA",
          "labels from the source model, then from a memory of certain pictures; adapts each source separately",
          [options](OptionTable& table) {
            table.integer("sfda", "sfda_steps", &options->steps, 0, 100000000,
                          "number of steps; 0 takes --epochs, or else 5000, on DomainNet 20000");
            table.integer("sfda", "sfda_refresh", &options->refresh, 0, 100000000,
                          "steps between rebuilds of SFDA's memory; 0 takes 100, on DomainNet at least one epoch");
            table.integer("sfda", "sfda_prototypes", &options->prototypes, 0, 100000,
                          "largest number of prototypes per class; 0 takes 100, on DomainNet 20");
            table.choice(
                "sfda", "sfda_absent", &options->absent,
                {{"most_probable", AbsentClass::kMostProbable}, {"released", AbsentClass::kReleased}},
                "prototype of a class that is never predicted; released reproduces a bug of the released code");
            table.flag("sfda", "sfda_memory_training", &options->memory_training,
                       "build the memory from augmented pictures and query it in training mode, as the "
                       "released code does");
            table.flag("sfda", "sfda_freeze_stem", &options->freeze_stem,
                       "freeze the running statistics of the first BatchNorm in networks for photographs");
          },
          [options](const MethodOptions& common) { return std::make_unique<Sfda>(common, *options); }};
}

}  // namespace tributary
