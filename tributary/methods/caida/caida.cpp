// CAiDA (Dong et al., NeurIPS 2021; docs/baselines.md, CAiDA): adapts all sources jointly, with pseudo-labels from
// confident anchors.
//
// The logits of the sources are mixed with one weight per source, a softmax over the sources. Before each round the
// whole target set is labelled from fused features that were moved towards a confident neighbour. Besides information
// maximisation of the mixture, a consistency loss makes the sources agree about each class.
#include <cmath>

#include "tributary/adapt/feature_rows.h"
#include "tributary/base/error.h"
#include "tributary/device/device.h"
#include "tributary/methods/baselines.h"
#include "tributary/methods/caida/anchors.h"
#include "tributary/methods/joint/joint_learner.h"
#include "tributary/methods/shot/centroids.h"
#include "tributary/model/layered_source.h"
#include "tributary/train/sequential_batches.h"

namespace tributary {
namespace {

enum class FirstWeights { kRandom, kEqual };

struct CaidaOptions {
  FirstWeights first_weights = FirstWeights::kRandom;
  double labels = 0.7;
  double relations = 0.01;
  AnchorSearch search = AnchorSearch::kWalk;
  ShareOptions shares;
};

class CaidaLearner : public JointLearner {
 public:
  CaidaLearner(Ensemble& ensemble, const JointSettings& settings, std::vector<Tensor> raw, const DeviceImages& images,
               uint64_t seed, const CaidaOptions& options)
      : JointLearner(ensemble, settings, std::move(raw)), images_(images), seed_(seed), options_(options) {
    labels_ = torch::zeros({images.size()}, at::device(images.device()).dtype(torch::kInt64));
  }

  Tensor weights() const override { return softmax_weights(raw_[0], raw_[1]); }

  void begin_round(int64_t round, const std::vector<Outputs>& target) override {
    torch::NoGradGuard no_grad;
    const Tensor current = weights();
    std::vector<Tensor> logits;
    for (const Outputs& source : target) logits.push_back(source.logits);
    const Tensor shares =
        draw_shares(images_.size(), options_.shares, Random(seed_, Purpose::kMixup, {static_cast<uint64_t>(round)}));
    labels_.copy_(anchored_labels(fused(logits, current).softmax(1), fused_rows(target, current),
                                  fused_backbones(current), upload(shares, images_.device()), options_.search)
                      .labels);
  }

 protected:
  Tensor labels(const Tensor& rows, const Tensor&) const override { return labels_.index_select(0, rows); }
  NamedTensors label_state() const override { return {{"own", labels_}}; }

 private:
  // g over the target set: sum_j w_j phi_j with a one appended, normalised to unit length.
  Tensor fused_rows(const std::vector<Outputs>& target, const Tensor& weights) const {
    const auto rows = [&](const auto& rows_of) {
      std::vector<Tensor> features;
      for (const Outputs& source : target) features.push_back(rows_of(source.features));
      return with_one_normalised(fused(features, weights));
    };
    if (!target.front().in_blocks) return rows([](const Tensor& features) { return features; });
    std::vector<Tensor> blocks;
    for_row_blocks(images_.size(), ensemble_.joint_width(), [&](int64_t begin, int64_t end) {
      blocks.push_back(
          rows([&](const Tensor& features) { return rows_as_float(features, begin, end, images_.device()); }));
    });
    return at::cat(blocks);
  }

  // sum_j w_j F_j(x) over the target set, in evaluation mode. Fused batch by batch, because backbone features are wide.
  Tensor fused_backbones(const Tensor& weights) {
    const MixedPrecision precision(settings_.mixed, images_.device());
    std::vector<Tensor> parts;
    const int64_t batch = evaluation_batch(images_);
    for (SequentialBatches sweep(images_, batch); !sweep.done();) {
      const std::vector<Tensor> x = views(sweep.next(), ensemble_.sources);
      const NoAlgorithmSearch quick(x.front().size(0) != batch);
      std::vector<Tensor> flat;
      for (size_t j = 0; j < x.size(); ++j)
        flat.push_back(ensemble_.sources[j].layered()->backbone_features(x[j], nullptr).to(torch::kFloat32));
      parts.push_back(fused(flat, weights));
    }
    return at::cat(parts);
  }

  const DeviceImages& images_;
  uint64_t seed_;
  CaidaOptions options_;
  Tensor labels_;  // int64 [n]
};

class Caida : public JointMethod {
 public:
  Caida(const MethodOptions& common, const CaidaOptions& options) : JointMethod(common), options_(options) {}

 protected:
  std::unique_ptr<JointLearner> learner(Ensemble& ensemble, const DeviceImages& images,
                                        const TrainingSchedule& schedule, JointSettings settings) const override {
    for (const SourceModel& source : ensemble.sources)
      if (!source.layered())
        input_error(
            "caida needs the backbone features of its sources, which TorchScript does not give; {} is TorchScript",
            source.info().name);
    settings.loss = {options_.labels, options_.relations};
    // Xavier initialisation of Linear(m, 1). With few sources, one often starts with more than half of the weight;
    // equal weights avoid this.
    const double deviation =
        options_.first_weights == FirstWeights::kEqual ? 0 : std::sqrt(2.0 / static_cast<double>(ensemble.size() + 1));
    Random random(schedule.seed, Purpose::kWeights);
    std::vector<float> scores;
    for (int64_t j = 0; j < ensemble.size(); ++j) scores.push_back(static_cast<float>(deviation * random.normal()));
    std::vector<Tensor> raw = {trained_tensor(scores, images.device()), trained_tensor({0}, images.device())};
    return std::make_unique<CaidaLearner>(ensemble, settings, std::move(raw), images, schedule.seed, options_);
  }

 private:
  CaidaOptions options_;
};

}  // namespace

MethodEntry caida_method() {
  const auto options = std::make_shared<CaidaOptions>();
  return {"caida", "CAiDA", "trains all sources and their weights jointly, with pseudo-labels from confident anchors",
          [options](OptionTable& table) {
            table.number("caida", "caida_labels", &options->labels, 0, 1e6, "weight of CAiDA's pseudo-labels");
            table.number("caida", "caida_relations", &options->relations, 0, 1e6,
                         "weight of CAiDA's class consistency between sources");
            table.choice("caida", "caida_first_weights", &options->first_weights,
                         {{"random", FirstWeights::kRandom}, {"equal", FirstWeights::kEqual}},
                         "initial source weights of CAiDA: random as in its code, or equal");
            table.choice(
                "caida", "caida_anchor", &options->search,
                {{"walk", AnchorSearch::kWalk}, {"nearest", AnchorSearch::kNearest}},
                "CAiDA's anchors: a walk for every picture as in its code, or the nearest anchor for unconfident "
                "pictures as in its paper");
            table.number("caida", "caida_share", &options->shares.mean, -10, 10,
                         "mean weight of a picture against its anchor in CAiDA");
            table.number("caida", "caida_share_deviation", &options->shares.deviation, 0, 10,
                         "standard deviation of that weight");
            table.flag("caida", "caida_share_clip", &options->shares.clip, "clamp that weight to 0..1");
          },
          [options](const MethodOptions& common) { return std::make_unique<Caida>(common, *options); }};
}

}  // namespace tributary
