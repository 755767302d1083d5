// The source ensemble (docs/baselines.md, Source ensemble): the combined prediction of the unadapted sources.
#include "tributary/device/device.h"
#include "tributary/methods/baselines.h"

namespace tributary {
namespace {

class SourceEnsemble : public LearnedMethod {
 public:
  SourceEnsemble(const MethodOptions& common, Combination rule) : common_(common), rule_(rule) {}

 protected:
  TrainingSchedule schedule(const Ensemble& ensemble, int64_t) const override {
    TrainingSchedule none = common_.schedule(ensemble, 64, 0);
    none.rounds = 0;
    return none;
  }
  std::vector<std::unique_ptr<Learner>> learners(Ensemble&, const DeviceImages&, const TrainingSchedule&) override {
    return {};
  }
  Mixture mixture() const override { return {rule_, {}}; }

 private:
  MethodOptions common_;
  Combination rule_;
};

}  // namespace

MethodEntry source_ensemble_method() {
  const auto rule = std::make_shared<Combination>(Combination::kMeanProbability);
  MethodEntry entry{"source-ens", "Source-ens", "averages the probabilities of the unadapted sources",
                    [rule](OptionTable& table) {
                      table.choice("source-ens", "ensemble_rule", rule.get(),
                                   {{"mean_prob", Combination::kMeanProbability},
                                    {"mean_logit", Combination::kMeanLogit},
                                    {"vote", Combination::kVote}},
                                   "how the source ensemble combines its sources");
                    },
                    [rule](const MethodOptions& common) { return std::make_unique<SourceEnsemble>(common, *rule); }};
  entry.mixes_class_sets = true;
  entry.length_options = {};  // it does not train
  entry.unused_options = {
      "batch",           "rate_backbone",    "rate_bottleneck", "train",         "clip_gradient", "keep",
      "cuda_graph",      "augment",          "augment_shift",   "augment_flip",  "augment_grey",  "augment_rotation",
      "augment_zoom_in", "augment_zoom_out", "augment_jitter",  "augment_cutout"};
  return entry;
}

}  // namespace tributary
