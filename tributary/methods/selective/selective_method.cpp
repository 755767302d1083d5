// Registers selective self-training as a method.
#include "tributary/methods/registry.h"
#include "tributary/methods/selective/selective.h"

namespace tributary {
namespace {

// Selective self-training that selects with the target's labels.
class SelectiveOracle : public Method {
 public:
  SelectiveOracle(SelectiveOptions options, Labels labels) : options_(std::move(options)), labels_(std::move(labels)) {}
  HeldPasses held_passes() const override { return tributary::held_passes(options_); }
  SupportedSharding supported_sharding() const override { return SupportedSharding::kEither; }
  using Method::adapt;
  void adapt(Ensemble& ensemble, const ImageSet& target, Observer& observer, Checkpointer& checkpointer) override {
    adapt_with_oracle(ensemble, target, labels_, options_, observer, checkpointer);
  }

 private:
  SelectiveOptions options_;
  Labels labels_;
};

// The method's options with the common ones. A batch or rate that the user did not set comes from the presets.
SelectiveOptions with_common(SelectiveOptions options, const MethodOptions& common) {
  const int64_t batch = common.batch > 0 ? common.batch : options.batch;
  const double rate = common.rate_bottleneck >= 0 ? common.rate_bottleneck : options.rate_bottleneck;
  static_cast<MethodOptions&>(options) = common;
  options.batch = batch;
  options.rate_bottleneck = rate;
  return options;
}

}  // namespace

MethodEntry selective_method() {
  const auto options = std::make_shared<SelectiveOptions>();
  apply_variant(*options, Variant::kTributary);
  MethodEntry entry{
      "selective",
      "Selective self-training",
      "trains on confident pseudo-labels of all sources, aligns the rest",
      [options](OptionTable& table) { declare_selective(table, *options); },
      [options](const MethodOptions& common) {
        return std::make_unique<SelectiveSelfTraining>(with_common(*options, common));
      },
  };
  entry.make_with_labels = [options](const MethodOptions& common, const GivenLabels& given) {
    return std::make_unique<SelectiveSelfTraining>(with_common(*options, common), given);
  };
  entry.row = "Ours";
  entry.is_own = true;
  entry.mixes_class_sets = true;
  entry.excludes_scores = [options] { return std::string(options->cross_labels ? "--cross-labels" : ""); };
  entry.length_options = {"rounds", "inner_epochs"};
  entry.apply_presets = [options](const OptionTable& table, MethodOptions& common) {
    static_cast<MethodOptions&>(*options) = common;
    apply_presets(table, *options);
    common = *options;
  };
  entry.resolve = [options] { apply_ablations(*options); };
  entry.default_keep = [options] {
    return options->variant == Variant::kTributary ? KeepRule::kLabelFree : KeepRule::kLast;
  };
  entry.oracle = OracleEntry{"selective-oracle", "Selective oracle", "Ours (oracle)",
                             [options](const MethodOptions& common, const Labels& labels) {
                               return std::make_unique<SelectiveOracle>(with_common(*options, common), labels);
                             }};
  return entry;
}

}  // namespace tributary
