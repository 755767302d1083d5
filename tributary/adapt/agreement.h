// Agreement of labellings, and the accuracies that follow from it if sources err independently.
//
// Two models whose errors are independent given the class agree the more, the more accurate they are. Agreement is
// therefore evidence of accuracy that needs no labels. It cannot see an error that all sources share.
#pragma once

#include <vector>

#include "tributary/comm/row_block.h"

namespace tributary {

// Where a label is negative its source abstains (model/class_sets.h). All functions of two labellings look only at the
// pictures for which both have a label. Ranks may keep the labels of their own rows.

// The share of pictures with equal labels; 0 if there are none. Labels are int64 [n].
double agreement(const Tensor& label, const Tensor& other, const RowBlock& rows = {});

// The mean agreement of all pairs of m >= 2 labellings, int64 [m, n].
double mean_agreement(const Tensor& labels, const RowBlock& rows = {});

// A gain in mean kappa that only a real gain in accuracy explains.
constexpr double kClearGain = 0.2;

// Whether sources agree more `after` a change than `before` it, int64 [m, n] each: their mean Cohen's kappa rises by
// kClearGain, or by 0.05 while their mean agreement does not fall. On a target set with one large class a smaller gain
// in kappa alone means little, because labels that spread over the other classes agree less by chance. Two sources need
// the clear gain: a single pair, often of similar domains, also agrees more on errors that it shares. So do `skewed`
// target sets: statistics of their large classes make sources agree more, and err more.
bool agrees_more(const Tensor& before, const Tensor& after, int64_t classes, bool skewed = false,
                 const RowBlock& rows = {});

// Cohen's kappa: (g - e) / (1 - e) with g the agreement and e = sum_k p_k q_k that of independent labels with the same
// class shares p and q. It is 0 if e is 1, where all labels are one class and agreement says nothing.
double cohens_kappa(const Tensor& label, const Tensor& other, int64_t classes, const RowBlock& rows = {});

// The mean of Cohen's kappa over all pairs of sources, for their labels int64 [m, n]; clamped to [0, 1]. 0 for m = 1.
double mutual_trust(const Tensor& labels, int64_t classes, const RowBlock& rows = {});

// The mean of paired differences, float [n] per picture, and its standard error sqrt((mean d^2 - (mean d)^2) / n).
struct PairedDifference {
  double mean = 0;
  double standard_error = 0;
};
PairedDifference paired_difference(const Tensor& difference, const RowBlock& rows = {});

// The accuracies of m >= 2 sources from their labels, int64 [m, n], if errors are independent given the class and wrong
// labels are uniform (Platanios et al. 2014 for two classes). With b = a - 1/K and r_ij = (g_ij - 1/K)(K - 1)/K the
// model says r_ij = b_i b_j; ln b solves the least squares over pairs with r_ij > 0.01. Two sources count as equally
// accurate, and a source without such a pair as guessing. Results lie in [1/K, 1].
std::vector<double> accuracies_from_agreement(const Tensor& labels, int64_t classes);
// The same from the agreements g, float [m, m]; its diagonal is ignored.
std::vector<double> accuracies_from_agreements(const Tensor& agreements, int64_t classes);

// Weights for a vote of m >= 2 sources from their labels int64 [m, n], float32 [m]: ln(a_j (K - 1) / (1 - a_j)), the
// best weights if errors are independent and uniform. The accuracies a_j = b_j + (1 - b_j) / K come from the
// least-squares fit kappa_ij = b_i b_j with 0 <= b <= 0.98. Kappa instead of plain agreement gives a source that always
// predicts one class no weight. Class shares do not enter, so the weights also hold on target sets with a large class.
Tensor weights_from_agreement(const Tensor& labels, int64_t classes, const RowBlock& rows = {});

// Whether the labels `own` are better supported by the sources than `other`, int64 [n] each: their agreement with the
// sources' labels int64 [m, n], weighted by `weights_from_agreement`, is higher by two standard errors.
bool is_better_supported(const Tensor& own, const Tensor& other, const Tensor& labels, int64_t classes,
                         const RowBlock& rows = {});

// The accuracy of a model that agrees with an independent witness of accuracy a on a share q of the pictures:
// (q - e) / (a - e) with e = (1 - a) / (K - 1).
double accuracy_from_witness(double q, double a, int64_t classes);

// The largest possible mean accuracy of two models: they cannot both be right where they disagree.
double accuracy_cap(const Tensor& label, const Tensor& other);

}  // namespace tributary
