#include "tributary/methods/selective/selective_options.h"

#include "tributary/base/error.h"
#include "tributary/benchmarks/hyper_parameters.h"

namespace tributary {
namespace {

constexpr double kLargest = 1e6;

Variant parse_variant(const std::string& name) {
  if (name == "recommended") return Variant::kRecommended;
  if (name == "paper") return Variant::kPaper;
  if (name == "code") return Variant::kCode;
  if (name == "tributary") return Variant::kTributary;
  input_error("--variant {}: choose one of recommended, paper, code, tributary", name);
}

void declare_training(OptionTable& table, SelectiveOptions& options) {
  const std::string section = "adapt";
  table.integer(section, "rounds", &options.rounds, 1, 10000, "rounds of labelling and training, T in the paper");
  table.integer(section, "inner_epochs", &options.inner_epochs, 1, 10000,
                "passes over the larger of the confident and unconfident set per round");
  table.number(section, "lambda_alpha", &options.lambda_alpha, 0, 100,
               "share of the mean confidence that makes a sample confident at the start");
  table.number(section, "lambda_ce", &options.lambda_ce, 0, kLargest, "weight of the cross-entropy");
  table.number(section, "lambda_im", &options.lambda_im, 0, kLargest, "weight of information maximisation");
  table.number(section, "lambda_adv", &options.lambda_adv, 0, kLargest, "weight of the adversarial loss");
  table.choice(section, "schedule", &options.schedule,
               {{"decay", RateSchedule::kDecay}, {"constant", RateSchedule::kConstant}},
               "learning rate within a round: (1 + 10 i/I)^-0.75, or constant");
  declare(table, section, options.sgd);
  table.flag(section, "mixup", &options.mixup, "mix up the confident samples (Eq. 11)");
  table.choice(section, "information_set", &options.information_set,
               {{"clean", InformationSet::kClean}, {"mixed", InformationSet::kMixed}, {"all", InformationSet::kAll}},
               "samples whose information is maximised: the confident batch; with its mixtures; with the unconfident "
               "batch");
  table.choice(section, "adversarial_set", &options.adversarial_set,
               {{"clean", AdversarialSet::kClean}, {"mixed", AdversarialSet::kMixed}},
               "confident side of the alignment: the confident batch; with its mixtures");
  table.choice(section, "pairing", &options.pairing,
               {{"independent", LoaderPairing::kIndependent}, {"paired", LoaderPairing::kPaired}},
               "restart the confident and the unconfident loader independently, or both when one ends");
  table.number(
      section, "least_batch", &options.least_batch, 0, 1,
      "drop the last batch of a pass if it is smaller than this share of --batch, because BatchNorm needs more than "
      "a few pictures; at least 2 are needed");
}

void declare_labelling(OptionTable& table, SelectiveOptions& options) {
  const std::string section = "adapt";
  AggregationOptions& weights = options.aggregation;
  table.choice(section, "mixture", &weights.space,
               {{"logits", MixtureSpace::kLogits}, {"probabilities", MixtureSpace::kProbabilities}},
               "space in which sources are mixed");
  table.choice(section, "weight_scale", &weights.scale, {{"free", WeightScale::kFree}, {"fixed", WeightScale::kFixed}},
               "let the sum of the weights grow, or hold it at m");
  table.choice(
      section, "weight_start", &weights.start,
      {{"uniform", WeightStart::kUniform}, {"normal", WeightStart::kNormal}, {"agreement", WeightStart::kAgreement}},
      "initial weights: 1/m, a normal draw, or by how much the unadapted sources agree");
  table.flag(section, "weight_restart", &weights.restart, "restart the weights in every round");
  table.integer(section, "weight_steps", &weights.steps, 0, 1000000, "gradient steps for the weights per round");
  table.number(section, "weight_rate", &weights.rate, 0, 100, "learning rate of the weights");
  table.number(section, "marginal_epsilon", &weights.marginal_epsilon, 0, 0.1,
               "added in the logarithm of the marginal entropy");
  table.flag(section, "learn_weights", &weights.learn, "learn the domain weights (Eq. 6), else 1/m throughout");
  table.choice(section, "prototype_kernel", &options.prototypes.kernel,
               {{"squared", PrototypeKernel::kSquared}, {"norm", PrototypeKernel::kNorm}},
               "distance to the prototypes: |d|^2/2t, or |d|/t");
  table.number(section, "prototype_temperature", &options.prototypes.temperature, 0, kLargest,
               "temperature t of that kernel; 0 takes the kernel's default, 10 or 1");
  table.integer(section, "prototype_passes", &options.prototypes.passes, 1, 100, "refinements of the prototypes");
  table.choice(section, "first_labels", &options.first_labels,
               {{"own", FirstLabels::kOwn}, {"mixture", FirstLabels::kMixture}},
               "labels of the first prototypes: the source's own, or the mixture's");
  table.choice(section, "empty_class", &options.prototypes.empty,
               {{"weighted", EmptyClass::kWeighted}, {"zero", EmptyClass::kZero}},
               "prototype of a class without samples: mean weighted by the predictions, or zero");
  table.flag(section, "denoise", &options.denoise, "multiply the mixture with the prototype scores (Eq. 9)");
  table.choice(section, "growth", &options.growth, {{"paper", Growth::kPaper}, {"code", Growth::kCode}},
               "size of the confident set: up to all samples, or up to just below");
  table.choice(section, "threshold", &options.threshold,
               {{"at-least", Threshold::kAtLeast}, {"above", Threshold::kAbove}}, "comparison that gives N_0");
}

void declare_ingredients(OptionTable& table, SelectiveOptions& options) {
  const std::string section = "adapt";
  table.integer(section, "target_statistics", &options.target_statistics, 0, 100,
                "passes over the target set that adapt BatchNorm's running statistics before the first pseudo-labels");
  table.choice(section, "statistics_rule", &options.statistics_rule,
               {{"always", StatisticsRule::kAlways}, {"agreement", StatisticsRule::kAgreement}},
               "adapt these statistics always, or only if the sources then agree more with each other");
  table.integer(section, "round_statistics", &options.round_statistics, 0, 100,
                "passes that adapt BatchNorm's running statistics to the unaugmented target set after every round");
  table.flag(section, "unconfident_pass", &options.unconfident_pass,
             "pass the unconfident samples through the sources even without alignment, for BatchNorm's statistics");
  table.choice(section, "score_scale", &options.score_scale, {{"free", ScoreScale::kFree}, {"unit", ScoreScale::kUnit}},
               "domain weights in the score: as learned, or scaled to sum 1");
  table
      .text(section, "class_prior", &options.class_prior,
            "class distribution that diversity is measured against: uniform; auto, estimated from the pseudo-labels "
            "as far as the sources agree; skewed, the same if the unadapted sources give one class more than 0.15 + 1 "
            "/ K of the pictures (needs --class-cap), else uniform; or a file with a line \"CLASS SHARE\" per class")
      .metavar("uniform|auto|skewed|FILE");
  table.number(
      section, "class_cap", &options.class_cap, 0, 1000,
      "largest share of a pseudo-class in the loss of the domain weights, as a multiple of the mean share of the "
      "classes that occur; above 1, or 0 for no limit");
  table.flag(section, "leave_dominated", &options.leave_dominated,
             "train no round if the unadapted sources give one class more than 0.3 + 1.2 / K of the pictures; needs "
             "--class-cap");
  table.number(section, "label_balance", &options.label_balance, 0, 1,
               "how far the class shares of the pseudo-labels move to the class prior: 0 not at all, 1 all the way");
  table.flag(section, "per_class", &options.per_class, "select the same share of every pseudo-class");
  table.number(section, "final_share", &options.final_share, 0.01, 1,
               "share of the target set that is confident in the last round");
  table.flag(section, "sample_weights", &options.sample_weights, "weight the cross-entropy of a sample by its score");
  table.number(section, "score_memory", &options.score_memory, 0, 0.99, "share of earlier rounds in the score");
  table.integer(section, "neighbours", &options.neighbours, 0, 1000,
                "nearest neighbours whose scores are averaged into that of a sample; 0 for none");
  table.number(section, "neighbour_share", &options.neighbour_share, 0, 1, "share of the neighbours in that average");
  table.number(section, "given_weight", &options.given_weight, 0, 1000,
               "weight of a label of --labels in the cross-entropy, in pseudo-labels");
  table.number(section, "model_average", &options.model_average, 0, 0.99,
               "share of earlier rounds in a moving average of the sources, which labels the target set and is the "
               "result; 0 for none");
  table.integer(section, "student_epochs", &options.student_epochs, 0, 100000,
                "passes over the pictures in which a student learns the labels of sources that are only predictions; 0 "
                "takes 15 for photographs and 30 for digits");
  table.flag(section, "cross_labels", &options.cross_labels,
             "label a source by the others where they are surer of a sample without it");
}

void declare_alignment(OptionTable& table, AlignmentOptions& options) {
  const std::string section = "adapt";
  table.choice(section, "discriminator_output", &options.output,
               {{"sigmoid", DiscriminatorOutput::kSigmoid}, {"double-sigmoid", DiscriminatorOutput::kDoubleSigmoid}},
               "input of the discriminator's loss");
  table.choice(section, "feature_objective", &options.objective,
               {{"swapped", FeatureObjective::kSwapped}, {"minimax", FeatureObjective::kMinimax}},
               "the features' adversarial loss");
  table.choice(section, "alternation", &options.alternation,
               {{"alternate", Alternation::kAlternate}, {"simultaneous", Alternation::kSimultaneous}},
               "update the features after or before the discriminator's step");
  table.choice(section, "adversarial_copies", &options.copies,
               {{"once", AdversarialCopies::kOnce},
                {"every", AdversarialCopies::kEvery},
                {"descending", AdversarialCopies::kDescending}},
               "how many times the adversarial loss counts for source j: 1, m or m - j");
  table.flag(section, "discriminator_leak", &options.leak, "let the discriminator's own loss reach the features");
  table.number(section, "discriminator_rate", &options.rate, 0, 10, "learning rate of the discriminator");
  table.number(section, "discriminator_momentum", &options.momentum, 0, 0.9999, "momentum of the discriminator");
  table.number(section, "discriminator_decay", &options.weight_decay, 0, 1, "weight decay of the discriminator");
  table.number(section, "adversarial_factor", &options.factor, 0, 10, "factor of both adversarial losses");
}

}  // namespace

void apply_variant(SelectiveOptions& options, Variant variant) {
  options.variant = variant;
  if (variant == Variant::kPaper) {
    options.aggregation.space = MixtureSpace::kProbabilities;
    options.aggregation.scale = WeightScale::kFixed;
    options.aggregation.restart = true;
    options.aggregation.marginal_epsilon = 0;
    options.prototypes.kernel = PrototypeKernel::kNorm;
    options.prototypes.passes = 1;
    options.threshold = Threshold::kAbove;
    options.rate_backbone = 1e-2;
    options.schedule = RateSchedule::kConstant;
    options.sgd.nesterov = false;
    options.information_set = InformationSet::kMixed;
    options.adversarial_set = AdversarialSet::kMixed;
    options.least_batch = 0;
    options.alignment.objective = FeatureObjective::kMinimax;
    options.alignment.momentum = 0.9;
    options.alignment.weight_decay = 1e-3;
    options.alignment.factor = 1;
  } else if (variant == Variant::kTributary) {
    options.rounds = 10;
    options.inner_epochs = 1;
    options.lambda_ce = 1;
    options.target_statistics = 2;
    options.statistics_rule = StatisticsRule::kAgreement;
    options.class_cap = 1.5;
    options.leave_dominated = true;
    options.class_prior = "skewed";
  } else if (variant == Variant::kCode) {
    options.aggregation.start = WeightStart::kNormal;
    options.aggregation.steps = 20000;
    options.aggregation.marginal_epsilon = 0;
    options.prototypes.empty = EmptyClass::kZero;
    options.growth = Growth::kCode;
    options.lambda_ce = 0.1;
    options.rate_backbone = 1e-3;
    options.pairing = LoaderPairing::kPaired;
    options.least_batch = 0;
    options.alignment.output = DiscriminatorOutput::kDoubleSigmoid;
    options.alignment.alternation = Alternation::kSimultaneous;
    options.alignment.copies = AdversarialCopies::kDescending;
    options.alignment.leak = true;
  }
}

HeldPasses held_passes(const SelectiveOptions& options) {
  const bool holds_mixed =
      options.information_set == InformationSet::kMixed || options.adversarial_set == AdversarialSet::kMixed;
  return {true, options.mixup && holds_mixed ? 3 : 2, options.mixup && !holds_mixed};
}

Augmentation augmentation_of(const SelectiveOptions& options) {
  Augmentation augmentation = options.augmentation;
  if (augmentation.level == AugmentationLevel::kAuto && options.variant == Variant::kTributary)
    augmentation.level = AugmentationLevel::kStrong;
  return augmentation;
}

void apply_benchmark(SelectiveOptions& options, const std::string& name) {
  const HyperParameters paper = paper_hyper_parameters(name);
  options.batch = paper.batch;
  if (options.variant == Variant::kTributary) return;  // it is not tuned to benchmarks
  options.rounds = paper.rounds;
  options.lambda_ce = paper.lambda_ce;
  options.lambda_alpha = paper.lambda_alpha;
}

void apply_presets(const OptionTable& table, SelectiveOptions& options) {
  if (const auto variant = table.given("variant")) {
    const MethodOptions common = options;
    options = SelectiveOptions();
    static_cast<MethodOptions&>(options) = common;
    apply_variant(options, parse_variant(*variant));
  }
  if (const auto benchmark = table.given("benchmark"); benchmark && !benchmark->empty())
    apply_benchmark(options, *benchmark);
}

void apply_ablations(SelectiveOptions& options) {
  if (options.class_cap > 0 && options.class_cap <= 1)
    input_error("--class-cap {}: choose a value above 1, or 0 for no limit", options.class_cap);
  for (const std::string& name : options.ablations) {
    if (name == "weights") {
      options.aggregation.learn = false;
    } else if (name == "denoise") {
      options.denoise = false;
    } else if (name == "information-all") {
      options.information_set = InformationSet::kAll;
    } else if (name == "information-loss") {
      options.lambda_im = 0;
    } else if (name == "alignment") {
      options.lambda_adv = 0;
    } else if (name == "mixup") {
      options.mixup = false;
    } else {
      input_error("--ablations {}: choose among weights, denoise, information-all, information-loss, alignment, mixup",
                  name);
    }
  }
}

void declare_selective(OptionTable& table, SelectiveOptions& options) {
  table
      .choice("adapt", "variant", &options.variant,
              {{"recommended", Variant::kRecommended},
               {"paper", Variant::kPaper},
               {"code", Variant::kCode},
               {"tributary", Variant::kTributary}},
              "tributary, or as published: the paper's choices, its released code's, or the better of each "
              "(recommended)")
      .alias("reading");
  table
      .texts("adapt", "ablations", &options.ablations,
             "parts to leave out: weights, denoise, information-loss, alignment, mixup; information-all measures it on "
             "all data")
      .metavar("PART")
      .renamed_value("information", "information-all");
  declare_training(table, options);
  declare_labelling(table, options);
  declare_ingredients(table, options);
  declare_alignment(table, options.alignment);
}

void declare(OptionTable& table, SelectiveOptions& options) {
  declare(table, static_cast<MethodOptions&>(options));
  declare_selective(table, options);
}

void resolve_options(OptionTable& table, SelectiveOptions& options) {
  const int64_t rounds = options.rounds, inner_epochs = options.inner_epochs;
  apply_presets(table, options);
  if (!table.given("benchmark")) {
    options.rounds = rounds;
    options.inner_epochs = inner_epochs;
  }
  table.apply_toml();
  table.apply_flags();
  apply_ablations(options);
}

}  // namespace tributary
