// The witness rule: rejects rounds of an adaptation that contradict the unadapted sources (docs/method.md, Which round
// is kept).
//
// The unadapted sources are witnesses. If their errors are independent given the class, a model agrees with a witness
// the more, the more accurate it is. An adapted model that is at least as good as the other sources then agrees with
// each witness at least as much as these do. The rule sees no target labels, and no error that all sources share.
#pragma once

#include "tributary/base/tensor.h"

namespace tributary {

// A round's figures, all means over witnesses and pictures.
struct WitnessVerdict {
  double agreement = 0;       // W: of the round's labels with a witness
  double bar = 0;             // B: of the other sources' mean prediction with a witness
  double standard_error = 0;  // of W - B, paired over pictures
  bool rejected = false;      // B - W exceeds two standard errors and one point
};

class WitnessRule {
 public:
  // Below this mean kappa of the witnesses with the others the rule abstains: agreement is cheap, or so many pictures
  // are open that an adaptation may correct errors which several sources share, and lose agreement by it.
  static constexpr double kLeastKappa = 0.7;

  // Two sources of similar domains share errors, and their own agreement then rejects rounds that correct these.
  static constexpr int64_t kLeastSources = 3;

  WitnessRule() = default;
  // From the logits [m, n, K] of the unadapted sources. Ties go to the lowest class. A witness abstains where it
  // favours a class that it does not know (model/class_sets.h); `known` is bool [m, K], undefined if all know all.
  explicit WitnessRule(const Tensor& logits, const Tensor& known = {});
  // From the labels of the witnesses and of the others, int64 [m, n] each, for resuming.
  WitnessRule(Tensor labels, Tensor others, int64_t classes);

  // Whether the rule rejects nothing: kappa is low, or there are too few sources.
  bool abstains() const { return labels_.size(0) < kLeastSources || kappa_ < kLeastKappa; }
  // The mean kappa of each witness with the mean prediction of the others; 0 for one source.
  double kappa() const { return kappa_; }
  // The share of pictures whose labels the sources leave in doubt: 1 minus the mean kappa of all pairs, in [0, 1].
  // It is 1 for one source.
  double doubtful_share() const { return doubtful_share_; }
  // Judges the labels of a round, int64 [n].
  WitnessVerdict judge(const Tensor& label) const;

  int64_t classes() const { return classes_; }
  const Tensor& labels() const { return labels_; }  // int64 [m, n], on the host; kAbstains where there is none
  const Tensor& others() const { return others_; }  // int64 [m, n]: argmax of the mean softmax of all sources but j

 private:
  void measure();

  Tensor labels_, others_;
  int64_t classes_ = 0;
  double kappa_ = 0, doubtful_share_ = 1;
};

}  // namespace tributary
