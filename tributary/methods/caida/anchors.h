// Labels from confident anchors (CAiDA, Dong et al., NeurIPS 2021; docs/method.md, CAiDA).
//
// About half of the target set is trusted: where the mixture is certain, or where one centroid is clearly the nearest.
// Every picture is drawn towards a trusted one in its neighbourhood before it is labelled, because a neighbour in the
// space of the backbones is likely of its class.
#pragma once

#include "tributary/base/random.h"
#include "tributary/base/tensor.h"

namespace tributary {

// How a picture comes by its anchor.
enum class AnchorSearch {
  kWalk,     // the released code: from neighbour to neighbour until one is confident; confident pictures walk too
  kNearest,  // the paper: unconfident pictures take the nearest confident one
};

constexpr int64_t kAnchorHops = 69;
constexpr int64_t kAnchorNeighbours = kAnchorHops + 1;

// The largest of each row of scores [n, K] minus the second largest, [n]. K >= 2.
Tensor lead(const Tensor& scores);

// Which pictures are confident, bool [n]: all but those that are both among the floor(n/2) of smallest probability gap
// and not among the floor(n/2) of largest distance gap. Equal gaps go by index.
Tensor confident_rows(const Tensor& probability_gap, const Tensor& distance_gap);

// The nearest `count` others (all others, if there are fewer) of each of rows [n, d] by cosine distance, nearest first:
// int64 [n, min(count, n - 1)]. Never holds more than a few rows of the n x n distances.
Tensor nearest_neighbours(const Tensor& rows, int64_t count);

// Where the walk from each picture ends, int64 [n]: it goes to the nearest neighbour that it has not been to, the start
// included, until that one is confident, or ends after `hops` and takes its first neighbour. On the host; `neighbours`
// [n, k] as above with k > hops or k = n - 1, `confident` bool [n].
Tensor walk_to_anchors(const Tensor& neighbours, const Tensor& confident, int64_t hops = kAnchorHops);

// The nearest confident one of rows [n, d] by cosine distance, int64 [n]; a confident picture's is itself.
Tensor nearest_confident(const Tensor& rows, const Tensor& confident);

// What share of itself each picture keeps, float [n] on the host: normal, and not kept within 0..1 unless `clip`.
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

// The labels of pictures whose mixture says `probabilities` [n, K], whose rows are g [n, d] of length one and whose
// backbones say `backbone` [n, D]: soft centroids of g give first labels; g_i becomes share_i g_i + (1 - share_i)
// g_anchor(i); the centroids of the first labels among these, of classes that somebody has, give the labels.
AnchoredLabels anchored_labels(const Tensor& probabilities, const Tensor& rows, const Tensor& backbone,
                               const Tensor& shares, AnchorSearch search);

}  // namespace tributary
