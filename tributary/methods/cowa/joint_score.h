// The joint model-data structure score (Lee et al., ICML 2022; docs/baselines.md, CoWA-JMDS): how far a pseudo-label
// can be trusted.
//
// Two witnesses have to agree. The data says how clearly a picture belongs to one cluster (LPG, the log-probability
// gap). The model says how much it believes in the class of that cluster (MPPL, its probability of the pseudo-label).
#pragma once

#include "tributary/methods/cowa/mixture_fit.h"

namespace tributary {

enum class ConfidenceScore { kJmds, kLpg, kPpl, kNone };

struct JointScoreOptions {
  ConfidenceScore score = ConfidenceScore::kJmds;
  bool cosine = true;       // features of length one, else as they are
  double epsilon = 1e-6;    // on the diagonal of covariances
  double gap_quantile = 1;  // of the gaps, the one that LPG divides by; 1: the largest
};

struct JointScore {
  Tensor label;             // int64 [n], argmax_k gamma_ik: the mixture's class, not the model's
  Tensor responsibilities;  // double [n, K], gamma
  Tensor gap;               // double [n], the largest log density less the second largest
  Tensor lpg;               // double [n], gap / max gap; ones if no gap is positive or a single class is live
  Tensor mppl;              // double [n], the model's probability of `label`
  Tensor confidence;        // double [n] in 0..1, lpg times mppl, or what `score` says
  int64_t live_classes;
  double jitter;  // the largest addition to a diagonal that was needed
};

// For features [n, d] as train/evaluate.h stores them and probabilities [n, K] on the device to compute on.
JointScore joint_score(const Tensor& features, const Tensor& probabilities, const JointScoreOptions& options);

// (sum c)^2 / sum c^2 of confidences c [n], []: how many equally trusted pictures they are worth.
Tensor effective_samples(const Tensor& confidence);

}  // namespace tributary
