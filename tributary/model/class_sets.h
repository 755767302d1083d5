// Sources that know different classes (docs/method.md, Class sets).
//
// The ensemble has the union of the classes. A source has logits for the classes that it knows. Its logits for the
// others are completed with those of the sources that know them, so that it moves no probability to or from them.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "tributary/base/tensor.h"

namespace tributary {

struct Ensemble;
class SourceModel;

// Maps the outputs of a source to classes. Outputs of one class are merged: their probabilities are added. Classes
// without an output get logit 0.
class OutputMap {
 public:
  OutputMap() = default;
  // `outputs[o]` is the class of output o, in 0 .. classes - 1. The map of all outputs to themselves is empty.
  OutputMap(const std::vector<int64_t>& outputs, int64_t classes);

  bool empty() const { return !table_.defined(); }
  // Logits per output [n, O] to logits per class [n, K].
  Tensor apply(const Tensor& logits) const;
  // bool [K]: the classes that have an output. Undefined if all have.
  const Tensor& known() const { return known_; }
  // int64 [K, P]: the outputs of every class, filled up with -1, where P is the largest number of outputs of a class.
  const Tensor& table() const { return table_; }
  void to(torch::Device device);

 private:
  Tensor table_, known_;
};

// Logits of m sources [m, n, K], with every logit that a source does not know replaced by c_j + u_k. Here u and c are
// the least-squares fit z_jk = u_k + c_j over the known logits of a picture, all sources with equal weight. `known`
// bool [m, K] must link the sources (are_linked); if it is undefined, nothing changes.
Tensor complete_logits(const Tensor& logits, const Tensor& known);

// The logits with -infinity in place of those that a source does not know: its own opinion.
Tensor own_logits(const Tensor& logits, const Tensor& known);

// A source abstains where its completed logits favour a class that it does not know.
inline constexpr int64_t kAbstains = -1;

// The label of every source from completed logits [m, n, K], int64 [m, n], or kAbstains.
Tensor votes(const Tensor& logits, const Tensor& known);

// Whether every class is known and no two groups of sources lack a class in common: otherwise their logits have no
// common scale. `known` is bool [m, K].
bool are_linked(const Tensor& known);
// The number of a source that shares no class with source 0, not even through others; -1 if all are linked.
int64_t first_unlinked(const Tensor& known);

// Removes the classes that the source does not know, to use it without the others.
void keep_known_classes(SourceModel& source);

// The classes that not all sources know, with the names of the sources that do.
std::map<std::string, std::vector<std::string>> partly_known(const Ensemble& ensemble);

}  // namespace tributary
