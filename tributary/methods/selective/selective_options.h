// The options of selective self-training: every choice of spec 00, section 8, with its recommended default.
#pragma once

#include <string>
#include <vector>

#include "tributary/adapt/aggregation.h"
#include "tributary/adapt/alignment.h"
#include "tributary/adapt/prototypes.h"
#include "tributary/adapt/selection.h"
#include "tributary/base/options.h"
#include "tributary/train/augmentation.h"
#include "tributary/train/precision.h"
#include "tributary/train/sgd.h"

namespace tributary {

enum class Variant { kRecommended, kPaper, kCode };
enum class RateSchedule { kDecay, kConstant };       // T6
enum class InformationSet { kClean, kMixed, kAll };  // T2, and ablation (c): x_l; with x_mix; with x_u
enum class AdversarialSet { kClean, kMixed };        // T3: x_l against x_u; x_l and x_mix against x_u
enum class LoaderPairing { kIndependent, kPaired };  // D2: each loader restarts on its own, or both together
enum class FirstLabels { kOwn, kMixture };           // Q3: labels of the first prototypes

struct SelectiveOptions {
  Variant variant = Variant::kRecommended;
  int64_t seed = 0;
  int64_t rounds = 20;  // T
  int64_t batch = 64;
  int64_t inner_epochs = 3;   // T4
  double lambda_alpha = 0.5;  // N3
  double lambda_ce = 0.2;
  double lambda_im = 1;
  double lambda_adv = 1;
  double rate_backbone = 0;  // T5; 0: the architecture's own
  double rate_bottleneck = 1e-2;
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
  AggregationOptions aggregation;
  PrototypeOptions prototypes;
  AlignmentOptions alignment;
  Augmentation augmentation;
  Precision precision = Precision::kAuto;
  bool cuda_graph = true;  // capture steps in CUDA graphs on a GPU
  std::vector<std::string> ablations;
  std::string benchmark;  // whose rows of the paper's table of hyper-parameters apply
};

// Sets the choices in which the paper, or its released code, differs from the recommended defaults.
void apply_variant(SelectiveOptions& options, Variant variant);

// The paper's hyper-parameters (spec 00, section 7) by "benchmark" or "benchmark/target".
void apply_benchmark(SelectiveOptions& options, const std::string& name);

// Switches parts off by the names of the paper's ablations: weights, denoise, information, alignment, mixup.
void apply_ablations(SelectiveOptions& options);

// Declares every field in the section [adapt].
void declare(OptionTable& table, SelectiveOptions& options);

// Applies what was read, in this order: variant and benchmark, TOML file, flags, ablations.
void resolve_options(OptionTable& table, SelectiveOptions& options);

}  // namespace tributary
