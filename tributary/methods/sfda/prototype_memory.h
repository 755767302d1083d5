// A memory of confident target pictures that labels the others (Kim et al. 2020; docs/baselines.md, SFDA).
//
// A source model is mostly right about the target pictures it is most certain of. Their features serve as prototypes,
// several per class, and a picture takes the label of the class whose prototypes are most similar. The label counts
// only if all prototypes of that class are nearer than any of the runner-up's. Similarity is the cosine. It is computed
// in float32, because features after a ReLU have positive cosines that are close to each other.
#pragma once

#include "tributary/base/tensor.h"

namespace tributary {

// -sum_k p_k ln(p_k + 1e-10) / ln K for probabilities [n, K]: [n], from 0 (certain) to 1 (uniform).
Tensor normalised_entropy(const Tensor& probabilities);

// The prototype of a class that is never predicted: the picture with the largest probability of it. In the released
// code it is the picture whose index is the class of rank k in the first picture's probabilities, which is a bug
// (docs/baselines.md, SFDA).
enum class AbsentClass { kMostProbable, kReleased };

struct PrototypeChoice {
  Tensor index;      // int64 [K, P] on the host, picture indices; the most certain of a class first
  double threshold;  // eta
};

// Chooses prototypes among n pictures with labels int64 [n], entropies [n] and probabilities [n, K]. Eta is the maximum
// over classes of the smallest entropy; a class keeps its pictures up to eta, at least one. P is the size of the
// largest class, at most `most`; larger classes are truncated, smaller ones repeated in order. Ties are broken by
// index.
PrototypeChoice choose_prototypes(const Tensor& labels, const Tensor& entropy, const Tensor& probabilities,
                                  int64_t most, AbsentClass absent = AbsentClass::kMostProbable);

// The prototypes of every class. Updated in place, so that a captured step can read them.
struct PrototypeMemory {
  Tensor rows;   // float [K, most, D], unit rows; rows from `count` on are unused
  Tensor count;  // int64 [], P

  PrototypeMemory(int64_t classes, int64_t most, int64_t width, torch::Device device);
  // Replaces all prototypes by those among features [n, D] with probabilities [n, K].
  void rebuild(const Tensor& features, const Tensor& probabilities, AbsentClass absent = AbsentClass::kMostProbable);
};

// The memory's answer for b pictures, without gradients.
struct PrototypeLabels {
  Tensor similarity;  // [b, K], the mean cosine with the prototypes of each class
  Tensor label;       // int64 [b], the class of largest similarity
  Tensor farthest;    // [b], 1 - cosine with the farthest prototype of that class
  Tensor nearest;     // [b], 1 - cosine with the nearest prototype of the class of second largest similarity
  Tensor confidence;  // float [b], 1 where farthest < nearest, else 0
};

// For features [b, D] and at least two classes.
PrototypeLabels prototype_labels(const Tensor& features, const PrototypeMemory& memory);

// a(s) = 2 / (1 + exp(-10 s / (S / 2))) - 1, the weight of the memory's labels after s = `done` (float []) of S steps.
// S / 2 is rounded down.
Tensor memory_trust(const Tensor& done, int64_t steps);

struct MemoryLosses {
  Tensor source;  // mean_i CE(source_logits_i, source_label_i)
  Tensor target;  // mean_i confidence_i CE(target_logits_i, label_i): over all pictures, not the confident ones
  Tensor total;   // (1 - trust) source + trust target
};

// For logits [b, K] of the source head and of the target head, and the labels of the source model, int64 [b].
MemoryLosses memory_losses(const Tensor& source_logits, const Tensor& source_labels, const Tensor& target_logits,
                           const PrototypeLabels& target_labels, const Tensor& trust);

}  // namespace tributary
