// Pseudo-labels from confident anchors (CAiDA, Dong et al., NeurIPS 2021; docs/baselines.md, CAiDA).
//
// About half of the target set is confident: pictures with a certain prediction of the mixture, or with one centroid
// much nearer than the others. Before labelling, every picture moves towards a confident picture nearby, because
// neighbours in the feature space of the backbones are likely to share its class.
#pragma once

#include "tributary/base/random.h"
#include "tributary/base/tensor.h"

namespace tributary {

// How to find the anchor of a picture.
enum class AnchorSearch {
  kWalk,     // released code: walk from neighbour to neighbour to a confident one; confident pictures walk too
  kNearest,  // paper: unconfident pictures take the nearest confident one
};

constexpr int64_t kAnchorHops = 69;
constexpr int64_t kAnchorNeighbours = kAnchorHops + 1;

// The largest minus the second largest score per row of [n, K]: [n]. K >= 2.
Tensor lead(const Tensor& scores);

// The confident pictures, bool [n]: all except those that are among the floor(n/2) with the smallest probability gap
// and not among the floor(n/2) with the largest distance gap. Ties are broken by index.
Tensor confident_rows(const Tensor& probability_gap, const Tensor& distance_gap);

// The `count` nearest other rows of each row of [n, d] by cosine distance, nearest first: int64 [n, min(count, n - 1)].
// Computes the n x n distances a few rows at a time.
Tensor nearest_neighbours(const Tensor& rows, int64_t count);

// The end of the walk from each picture, int64 [n]. A walk moves to the nearest neighbour not visited before, the start
// included, until it reaches a confident picture. After `hops` moves it gives up and takes the first neighbour of its
// start. On the host; `neighbours` [n, k] as above with k > hops or k = n - 1, `confident` bool [n].
Tensor walk_to_anchors(const Tensor& neighbours, const Tensor& confident, int64_t hops = kAnchorHops);

// The nearest confident row of each row of [n, d] by cosine distance, int64 [n]; a confident picture is its own anchor.
Tensor nearest_confident(const Tensor& rows, const Tensor& confident);

// The share of its own feature that each picture keeps, float [n] on the host: normally distributed, and clamped to
// 0..1 only with `clip`.
struct ShareOptions {
  double mean = 0.85;
  double deviation = 0.15;
  bool clip = false;
};
Tensor draw_shares(int64_t count, const ShareOptions& options, Random random);

struct AnchoredLabels {
  Tensor confident;  // bool [n]
  Tensor anchors;    // int64 [n]
  Tensor labels;     // int64 [n]
};

// Labels for pictures with mixture predictions `probabilities` [n, K], unit rows g [n, d] and backbone features
// `backbone` [n, D]. Soft centroids of g give first labels; g_i becomes share_i g_i + (1 - share_i) g_anchor(i); the
// centroids of the first labels among these give the labels. Classes without pictures are left out.
AnchoredLabels anchored_labels(const Tensor& probabilities, const Tensor& rows, const Tensor& backbone,
                               const Tensor& shares, AnchorSearch search);

}  // namespace tributary
