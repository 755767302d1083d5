// Estimates an accuracy without labels, with an interval (docs/method.md, Estimate of the accuracy).
//
// The unadapted sources are witnesses: a model that agrees with an independent witness of known accuracy on a share of
// the pictures has a certain accuracy itself. Errors that all sources share stay invisible.
#pragma once

#include <optional>
#include <vector>

#include "tributary/base/tensor.h"
#include "tributary/estimate/proportion.h"

namespace tributary {

// The unadapted sources on the target set.
struct Witnesses {
  Tensor label;                      // int64 [m, n]; negative where a source abstains (model/class_sets.h)
  std::vector<Tensor> is_confident;  // per source bool [n]: its confidence reaches its threshold; undefined without one
  int64_t classes = 0;               // K
  Tensor known = {};                 // bool [m, K]: which source knows which class; undefined: all know all
};

struct AccuracyEstimate {
  double accuracy = 0;
  Interval interval;             // of 90 %
  double half = 0;               // half its width before it was clipped
  double sampling_error = 0;     // standard deviation over bootstrap samples of the pictures
  double spread = 0;             // half the range of the estimates that single witnesses give
  std::vector<double> by_class;  // share of right labels among those of a class; NaN for a class without labels
};

// Accuracies of the witnesses: the mean of what their agreement says (accuracies_from_agreement) and, where a source
// has a threshold, the share of confident pictures.
std::vector<double> witness_accuracies(const Witnesses& witnesses);

// The half-width of a 90 % interval from a sampling error, the largest error of the estimator on labelled benchmarks
// and the spread of single estimates.
double interval_half(double sampling_error, double model_error, double spread);

// The labels of a mixture, before or after adaptation.
struct MixtureLabels {
  Tensor label;       // int64 [n]
  Tensor members;     // int64 [m, n], of its sources; negative where one abstains
  Tensor confidence;  // float [n], max_k of the mean softmax of its sources, whatever their weights
};

// What an estimate is made of. Means over the sources are weighted by their reliability.
struct Evidence {
  double with_sources = 0;                  // mean kappa of the labels with the unadapted sources
  double with_members = 0;                  // mean kappa with the sources of the mixture
  double evenness = 0;                      // entropy of the class shares of the labels, divided by ln K
  double mean_confidence = 0;               // of MixtureLabels::confidence
  std::optional<double> confident_sources;  // mean share of pictures on which sources reach their threshold
};
Evidence evidence_of(const Witnesses& witnesses, const MixtureLabels& mixture);

// The accuracy that estimate_from_evidence() gives, without an interval. Needs at least two sources.
double accuracy_from_evidence(const Witnesses& witnesses, const MixtureLabels& mixture);

// The accuracy of a mixture's labels from evidence_of(): a logistic regression that was fitted to labelled runs
// (bench/estimate_accuracy.py). Unlike estimate_accuracy() it allows for errors that the sources share, as far as they
// did in these runs. None for fewer than two sources.
std::optional<AccuracyEstimate> estimate_from_evidence(const Witnesses& witnesses, const MixtureLabels& mixture);

// The accuracy of `label`, int64 [n], judged by every witness, or [m, n], where witness j judges row j alone. The
// median over the witnesses that are clearly better than chance, clipped to [1 / K, 1]. `model_error` as in
// interval_half(). `cap` is an upper bound of the accuracy (accuracy_cap). None for fewer than two sources, or without
// such a witness.
std::optional<AccuracyEstimate> estimate_accuracy(const Witnesses& witnesses, const Tensor& label, double model_error,
                                                  double cap = 1);

}  // namespace tributary
