// The options of selective self-training: every choice of docs/method.md (Choices) with its recommended default.
#pragma once

#include <string>
#include <vector>

#include "tributary/adapt/aggregation.h"
#include "tributary/adapt/alignment.h"
#include "tributary/adapt/prototypes.h"
#include "tributary/adapt/selection.h"
#include "tributary/methods/method_options.h"
#include "tributary/model/pass_cost.h"
#include "tributary/train/sgd.h"

namespace tributary {

enum class Variant { kRecommended, kPaper, kCode, kTributary };
enum class RateSchedule { kDecay, kConstant };       // T6
enum class InformationSet { kClean, kMixed, kAll };  // T2 and ablation (c): x_l; with x_mix; with x_u
enum class AdversarialSet { kClean, kMixed };        // T3: x_l against x_u; x_l and x_mix against x_u
enum class LoaderPairing { kIndependent, kPaired };  // D2: loaders restart independently, or together
enum class FirstLabels { kOwn, kMixture };           // Q3: labels of the first prototypes
enum class StatisticsRule { kAlways, kAgreement };   // when BatchNorm takes the statistics of the target set
enum class ScoreScale { kFree, kUnit };              // weights of the mixture in the score: as learned, or with sum 1

struct SelectiveOptions : MethodOptions {
  SelectiveOptions() {
    batch = 64;
    rate_bottleneck = 1e-2;
  }

  Variant variant = Variant::kRecommended;
  int64_t rounds = 20;        // T
  int64_t inner_epochs = 3;   // T4
  double lambda_alpha = 0.5;  // N3
  double lambda_ce = 0.2;
  double lambda_im = 1;
  double lambda_adv = 1;
  RateSchedule schedule = RateSchedule::kDecay;
  SgdOptions sgd;
  bool mixup = true;    // ablation (e)
  bool denoise = true;  // ablation (b)
  InformationSet information_set = InformationSet::kClean;
  AdversarialSet adversarial_set = AdversarialSet::kClean;
  LoaderPairing pairing = LoaderPairing::kIndependent;
  double least_batch = 0.25;  // a remainder of an epoch, or a D_u, below this share of a batch is not trained on
  FirstLabels first_labels = FirstLabels::kOwn;
  Growth growth = Growth::kPaper;
  Threshold threshold = Threshold::kAtLeast;
  // Ingredients of the variant `tributary` (docs/method.md, Our variant).
  int64_t target_statistics = 0;  // passes that adapt BatchNorm's running statistics before the first labels
  StatisticsRule statistics_rule = StatisticsRule::kAlways;
  int64_t round_statistics = 0;  // the same passes before the evaluation of every round
  bool unconfident_pass = true;  // pass D_u through the sources even if it is not aligned
  ScoreScale score_scale = ScoreScale::kFree;
  std::string class_prior = "uniform";  // which diversity is measured against: uniform, auto, skewed or a file
  double class_cap = 0;                 // largest share of a pseudo-class in the domain weights, in mean shares
  bool leave_dominated = false;         // train no round if one class dominates the target set; needs class_cap
  double label_balance = 0;             // how far the class shares of labels move to the prior, 0 to 1
  bool per_class = false;               // select the same share of every pseudo-class
  double final_share = 1;               // of the target set that is confident in the last round
  bool sample_weights = false;          // weight the cross-entropy of a sample by its score
  double score_memory = 0;              // share of earlier rounds in the score
  double given_weight = 5;              // of a label that the user gave, in pseudo-labels
  int64_t neighbours = 0;               // whose scores are averaged into that of a sample
  double neighbour_share = 0.5;         // share of the neighbours in that average
  double model_average = 0;             // share of earlier rounds in a moving average of the sources, which labels
  int64_t student_epochs = 0;           // that a student learns the labels of fixed sources; 0: by the architecture
  bool cross_labels = false;            // label a source by the others where these are surer without it
  AggregationOptions aggregation;
  PrototypeOptions prototypes;
  AlignmentOptions alignment;
  std::vector<std::string> ablations;

  bool has_class_prior() const { return class_prior != "uniform"; }
  bool estimates_class_prior() const { return class_prior == "auto" || class_prior == "skewed"; }
};

// Sets the choices in which the paper, or its released code, differs from the recommended defaults.
void apply_variant(SelectiveOptions& options, Variant variant);

// Sets the paper's hyper-parameters for "benchmark" or "benchmark/target" (benchmarks/hyper_parameters.h).
void apply_benchmark(SelectiveOptions& options, const std::string& name);

// Applies the variant and the benchmark that the table was given. A given variant replaces all of the method's own
// options, whatever variant they were of.
void apply_presets(const OptionTable& table, SelectiveOptions& options);

// Switches parts off by the names of the paper's ablations: weights, denoise, alignment, mixup; information-all
// measures information on all data, and information-loss, which the paper does not have, leaves it out.
void apply_ablations(SelectiveOptions& options);

// Declares the method's own fields, without the common ones, in the section [adapt].
void declare_selective(OptionTable& table, SelectiveOptions& options);
// Declares every field.
void declare(OptionTable& table, SelectiveOptions& options);

// The passes that a training step holds: confident, unconfident and mixed ones.
HeldPasses held_passes(const SelectiveOptions& options);

// The augmentation of these options: strong for the variant `tributary` unless a level is given.
Augmentation augmentation_of(const SelectiveOptions& options);

// Resolves the declared options. The given lengths `rounds` and `inner_epochs` stay unless a benchmark, the file or a
// flag sets others. Presets first, then the TOML file, the flags and the ablations.
void resolve_options(OptionTable& table, SelectiveOptions& options);

}  // namespace tributary
