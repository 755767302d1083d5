// DECISION (Ahmed et al., CVPR 2021; docs/baselines.md, DECISION): adapts all sources jointly, in proportion to their
// weights.
//
// The logits of the sources are mixed with one weight per source, sigma(w_j) normalised to sum one. Information
// maximisation makes the mixture certain and diverse, as in SHOT for a single source. Pseudo-labels come from the
// centroids of every source, which are updated before each round and fused with the current weights in each step, so
// that labels follow the weights.
#include <fmt/format.h>

#include "tributary/adapt/feature_rows.h"
#include "tributary/methods/baselines.h"
#include "tributary/methods/decision/source_centroids.h"
#include "tributary/methods/joint/joint_learner.h"
#include "tributary/methods/shot/centroids.h"

namespace tributary {
namespace {

enum class LabelTransform { kTrain, kTest };

struct DecisionOptions {
  double beta = -1;  // weight of the pseudo-labels; negative: 0.3 for photographs, 0.1 for digits
  LabelTransform transform = LabelTransform::kTrain;
  EmptyCentroid empty = EmptyCentroid::kSoft;
};

// Whether augmented pictures equal the centre crops of evaluation.
bool changes_nothing(const Augmentation& augmentation, const DeviceImages& images) {
  if (augmentation.flip > 0 || augmentation.grey > 0 || augmentation.moves() || augmentation.recolours()) return false;
  const PictureSize& size = images.picture_size();
  return size.height == size.crop && size.width == size.crop;
}

class DecisionLearner : public JointLearner {
 public:
  DecisionLearner(Ensemble& ensemble, const JointSettings& settings, Tensor raw, const DeviceImages& images,
                  const TrainingSchedule& schedule, const DecisionOptions& options)
      : JointLearner(ensemble, settings, {std::move(raw)}), images_(images), schedule_(schedule), options_(options) {
    own_pass_ = options.transform == LabelTransform::kTrain && !changes_nothing(schedule.augmentation, images);
    const auto classes = static_cast<int64_t>(ensemble.classes().size());
    const auto zeros = [&](int64_t rows, int64_t columns) {
      return torch::zeros({rows, columns}, at::device(images.device()).dtype(torch::kFloat32));
    };
    for (const SourceModel& source : ensemble.sources) {
      const int64_t width = source.info().feature_width + 1;
      rows_.push_back(zeros(images.size(), width));
      centroids_.push_back(zeros(classes, width));
    }
  }

  Tensor weights() const override { return sigmoid_weights(raw_.front()); }

  void begin_round(int64_t round, const std::vector<Outputs>& target) override {
    torch::NoGradGuard no_grad;
    const std::vector<Outputs> outputs = own_pass_ ? augmented_outputs(round) : target;
    for (size_t j = 0; j < outputs.size(); ++j) {
      const Tensor& features = outputs[j].features;
      if (outputs[j].in_blocks)
        for_row_blocks(features.size(0), features.size(1), [&](int64_t begin, int64_t end) {
          rows_[j]
              .slice(0, begin, end)
              .copy_(with_one_normalised(rows_as_float(features, begin, end, images_.device())));
        });
      else
        rows_[j].copy_(with_one_normalised(features));
      centroids_[j].copy_(source_centroids(rows_[j], outputs[j].logits.softmax(1), options_.empty));
    }
  }

 protected:
  Tensor labels(const Tensor& rows, const Tensor& weights) const override {
    std::vector<Tensor> own;
    for (const Tensor& all : rows_) own.push_back(all.index_select(0, rows));
    return nearest_centroid(fused(own, weights), fused(centroids_, weights));
  }
  NamedTensors label_state() const override {
    NamedTensors all;
    for (size_t j = 0; j < rows_.size(); ++j) {
      all.push_back({fmt::format("rows.{}", j), rows_[j]});
      all.push_back({fmt::format("centroids.{}", j), centroids_[j]});
    }
    return all;
  }

 private:
  // Outputs of the sources, in evaluation mode, for augmented pictures: the released code uses its training loader
  // here, unlike SHOT.
  std::vector<Outputs> augmented_outputs(int64_t round) {
    // A path of three numbers cannot collide with those of steps, which have two.
    const auto random_of = [&](int64_t begin) {
      return Random(schedule_.seed, Purpose::kAugment, {0, static_cast<uint64_t>(round), static_cast<uint64_t>(begin)});
    };
    return evaluate_augmented(ensemble_.sources, images_, schedule_.augmentation, random_of, settings_.mixed);
  }

  const DeviceImages& images_;
  TrainingSchedule schedule_;
  DecisionOptions options_;
  bool own_pass_;
  std::vector<Tensor> rows_;       // per source, float [n, d + 1]: g
  std::vector<Tensor> centroids_;  // per source, float [K, d + 1]
};

class Decision : public JointMethod {
 public:
  Decision(const MethodOptions& common, const DecisionOptions& options) : JointMethod(common), options_(options) {}

 protected:
  std::unique_ptr<JointLearner> learner(Ensemble& ensemble, const DeviceImages& images,
                                        const TrainingSchedule& schedule, JointSettings settings) const override {
    settings.loss.labels = options_.beta >= 0 ? options_.beta : for_photographs(ensemble) ? 0.3 : 0.1;
    Random random(schedule.seed, Purpose::kWeights);
    std::vector<float> raw;
    for (int64_t j = 0; j < ensemble.size(); ++j) raw.push_back(static_cast<float>(random.uniform(-1, 1)));
    return std::make_unique<DecisionLearner>(ensemble, settings, trained_tensor(raw, images.device()), images, schedule,
                                             options_);
  }

 private:
  DecisionOptions options_;
};

}  // namespace

MethodEntry decision_method() {
  const auto options = std::make_shared<DecisionOptions>();
  return {
      "decision", "DECISION", "trains all sources and their weights jointly, with pseudo-labels from fused centroids",
      [options](OptionTable& table) {
        table.number("decision", "decision_beta", &options->beta, -1, 1e6,
                     "weight of DECISION's pseudo-labels; -1 takes 0.3 for photographs and 0.1 for digits");
        table.choice("decision", "decision_transform", &options->transform,
                     {{"train", LabelTransform::kTrain}, {"test", LabelTransform::kTest}},
                     "pictures for DECISION's centroids: augmented as in training, as in its code, or centre crops");
        table.choice(
            "decision", "decision_empty", &options->empty,
            {{"soft", EmptyCentroid::kSoft}, {"zero", EmptyCentroid::kZero}},
            "centroid of a class without pictures: weighted by the predictions, or zero as in DECISION's code");
      },
      [options](const MethodOptions& common) { return std::make_unique<Decision>(common, *options); }};
}

}  // namespace tributary
