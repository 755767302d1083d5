// A memory of certain target pictures that labels the others (Kim et al. 2020; docs/method.md, SFDA).
//
// A source model is right about the target pictures it is most certain of. Their features are kept as prototypes of
// their classes, several a class, and a picture takes the label of the class whose prototypes it resembles most. The
// label is believed only if all prototypes of that class are nearer than any of the runner-up's. Similarity is the
// cosine; features behind a ReLU have cosines that are all positive and close to each other, so it is computed in
// float32.
#pragma once

#include "tributary/base/tensor.h"

namespace tributary {

// -sum_k p_k ln(p_k + 1e-10) / ln K for probabilities [n, K]: [n], 0 for certainty and 1 for none.
Tensor normalised_entropy(const Tensor& probabilities);

// What stands for a class that nobody is predicted to be of: the picture with the largest probability of it, or, as in
// the released code, the picture whose number is the class of rank k in the first picture's probabilities, which is an
// accident (docs/method.md, SFDA).
enum class AbsentClass { kMostProbable, kReleased };

struct PrototypeChoice {
  Tensor index;      // int64 [K, P] on the host, which pictures; the most certain of a class first
  double threshold;  // eta
};

// Chooses prototypes among n pictures with labels int64 [n], entropies [n] and probabilities [n, K]. Eta is the largest
// of the classes' smallest entropies; a class keeps its pictures up to eta, at least one. P is the size of the largest
// class, at most `most`; larger ones are cut, smaller ones repeated in order. Equal entropies go by index.
PrototypeChoice choose_prototypes(const Tensor& labels, const Tensor& entropy, const Tensor& probabilities,
                                  int64_t most, AbsentClass absent = AbsentClass::kMostProbable);

// The prototypes of every class. Its tensors keep their memory, so that a captured step can read them.
struct PrototypeMemory {
  Tensor rows;   // float [K, most, D], of length one; those from `count` on mean nothing
  Tensor count;  // int64 [], P

  PrototypeMemory(int64_t classes, int64_t most, int64_t width, torch::Device device);
  // Forgets everything and takes the prototypes among features [n, D] with probabilities [n, K].
  void rebuild(const Tensor& features, const Tensor& probabilities, AbsentClass absent = AbsentClass::kMostProbable);
};

// What the memory says about b pictures, without gradients.
struct PrototypeLabels {
  Tensor similarity;  // [b, K], the mean cosine with the prototypes of each class
  Tensor label;       // int64 [b], the class of largest similarity
  Tensor farthest;    // [b], 1 - cosine with the farthest prototype of that class
  Tensor nearest;     // [b], 1 - cosine with the nearest prototype of the class of second largest similarity
  Tensor confidence;  // float [b], 1 where farthest < nearest, else 0
};

// For features [b, D] and at least two classes.
PrototypeLabels prototype_labels(const Tensor& features, const PrototypeMemory& memory);

// a(s) = 2 / (1 + exp(-10 s / (S / 2))) - 1, how much the memory's labels count after s = `done` (float []) of S steps.
// Half of S is rounded down.
Tensor memory_trust(const Tensor& done, int64_t steps);

struct MemoryLosses {
  Tensor source;  // mean_i CE(source_logits_i, source_label_i)
  Tensor target;  // mean_i confidence_i CE(target_logits_i, label_i): over all pictures, not the confident ones
  Tensor total;   // (1 - trust) source + trust target
};

// For logits [b, K] of the head that remembers the source and of the one that learns the target, and the source
// model's own labels int64 [b].
MemoryLosses memory_losses(const Tensor& source_logits, const Tensor& source_labels, const Tensor& target_logits,
                           const PrototypeLabels& target_labels, const Tensor& trust);

}  // namespace tributary
