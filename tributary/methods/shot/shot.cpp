// SHOT (Liang et al., ICML 2020; docs/baselines.md, SHOT): adapts each source separately, with a frozen classifier.
//
// Features move until the frozen classifier is certain about every picture and diverse over all of them. Pseudo-labels
// from class centroids keep features from moving to the wrong class. The probabilities of the adapted sources are
// averaged.
#include "tributary/adapt/information.h"
#include "tributary/device/accelerator.h"
#include "tributary/methods/baselines.h"
#include "tributary/methods/shot/centroids.h"
#include "tributary/train/sgd.h"

namespace tributary {
namespace {

struct ShotOptions {
  double beta = -1;  // weight of the pseudo-labels; negative: 0.3 for photographs, 0.1 for digits
};

class ShotLearner : public Learner {
 public:
  ShotLearner(SourceModel& source, size_t index, int64_t pictures, double beta, bool mixed, Sgd optimiser)
      : source_(source), index_(index), beta_(beta), mixed_(mixed), optimiser_(std::move(optimiser)) {
    labels_ = torch::zeros({pictures}, at::device(source.device()).dtype(torch::kInt64));
    freeze(source_.classifier_parameters());
  }

  std::vector<std::string> losses() const override { return {"cross_entropy", "information"}; }

  void begin_round(int64_t, const std::vector<Outputs>& target) override {
    if (beta_ == 0) return;
    torch::NoGradGuard no_grad;
    const Outputs& own = target[index_];
    const Tensor probabilities = own.logits.softmax(1);
    labels_.copy_(own.in_blocks ? centroid_labels_in_blocks(own.features, probabilities)
                                : centroid_labels(with_one_normalised(own.features), probabilities));
  }

  NamedTensors state() const override {
    return joined_state({{"optimiser", optimiser_.state()}, {"labels", {{"", labels_}}}});
  }

  Tensor step(const TargetBatch& batch) override {
    Tensor logits;
    {
      const MixedPrecision precision(mixed_, batch.pixels.device());
      const Tensor x = normalise(batch.pixels, source_.info().normalisation);
      logits = source_.classify(source_.features(x, &batch.dropout_stream.front())).to(torch::kFloat32);
    }
    const Tensor information = information_loss(logits.softmax(1));
    const Tensor cross_entropy = beta_ > 0 ? at::cross_entropy_loss(logits, labels_.index_select(0, batch.rows))
                                           : torch::zeros_like(information);
    optimiser_.zero_gradients();
    (beta_ * cross_entropy + information).backward();
    optimiser_.step(batch.rate_factor);
    return at::stack({cross_entropy.detach(), information.detach()});
  }

 private:
  SourceModel& source_;
  size_t index_;
  double beta_;
  bool mixed_;
  Sgd optimiser_;
  Tensor labels_;  // int64 [n]
};

class Shot : public LearnedMethod {
 public:
  Shot(const MethodOptions& common, const ShotOptions& options) : common_(common), options_(options) {}

 protected:
  TrainingSchedule schedule(const Ensemble& ensemble, int64_t) const override {
    return common_.schedule(ensemble, /*default_batch=*/64, /*default_epochs=*/for_photographs(ensemble) ? 15 : 30);
  }

  std::vector<std::unique_ptr<Learner>> learners(Ensemble& ensemble, const DeviceImages& images,
                                                 const TrainingSchedule& schedule) override {
    const bool photographs = for_photographs(ensemble);
    const double beta = options_.beta >= 0 ? options_.beta : photographs ? 0.3 : 0.1;
    std::vector<std::unique_ptr<Learner>> all;
    for (SourceModel& source : ensemble.sources) {
      Sgd optimiser({backbone_group(source, common_.backbone, common_.backbone_rate(photographs ? 1e-3 : 1e-2)),
                     {source.bottleneck_parameters(), common_.bottleneck_rate(1e-2)}},
                    {});
      all.push_back(std::make_unique<ShotLearner>(source, all.size(), images.size(), beta, is_mixed(schedule.precision),
                                                  std::move(optimiser)));
    }
    return all;
  }

 private:
  MethodOptions common_;
  ShotOptions options_;
};

}  // namespace

MethodEntry shot_method() {
  const auto options = std::make_shared<ShotOptions>();
  return {"shot", "SHOT", "information maximisation and pseudo-labels from centroids; adapts each source separately",
          [options](OptionTable& table) {
            table.number(
                "shot", "shot_beta", &options->beta, -1, 1e6,
                "weight of SHOT's pseudo-labels; -1 takes 0.3 for photographs and 0.1 for digits, 0 is SHOT-IM");
          },
          [options](const MethodOptions& common) { return std::make_unique<Shot>(common, *options); }};
}

}  // namespace tributary
