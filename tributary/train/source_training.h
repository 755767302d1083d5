// Source training (docs/method.md, Source training): one labelled domain in, one source model out.
//
// Label-smoothed cross-entropy and SGD with a decaying rate. Keeps a copy of the iterate with the best accuracy on the
// source's own validation split. Only labels of the source are used.
#pragma once

#include <functional>

#include "tributary/base/options.h"
#include "tributary/checkpoint/checkpointer.h"
#include "tributary/data/image_set.h"
#include "tributary/model/source_model.h"
#include "tributary/train/augmentation.h"
#include "tributary/train/precision.h"
#include "tributary/train/sgd.h"
#include "tributary/train/trained_layers.h"

namespace tributary {

enum class KeptIterate { kBest, kLast };

struct SourceTrainingOptions {
  int64_t epochs = 30;
  int64_t batch = 64;
  double label_smoothing = 0.1;
  double rate_backbone = 0;  // 0: the architecture's own
  double rate_head = 1e-2;   // bottleneck and classifier
  SgdOptions sgd;
  BackboneTraining backbone;
  Start classifier_init = Start::kDefault;
  KeptIterate keep = KeptIterate::kBest;
  double train_share = 0.9;  // without a validation set: this share trains, the rest validates
  bool full = false;         // train on everything and still validate on the rest of the split
  Augmentation augmentation;
  Precision precision = Precision::kAuto;
  bool deterministic = false;  // the same result in every run on a GPU, too
};

void declare(OptionTable& table, SourceTrainingOptions& options);

// Mean over the batch of -sum_k q_k log softmax(z)_k with q = (1 - e) onehot + e / K.
Tensor smoothed_cross_entropy(const Tensor& logits, const Tensor& label, double smoothing);

// A split of one labelled set by a random permutation: floor(share n) for training, the rest for validation.
struct Split {
  LabelledImages training, validation;
};
Split split_for_validation(const LabelledImages& data, double share, bool full, uint64_t seed);

// Keeps a copy of the model at its best accuracy so far; the later one of equals.
class BestCopy {
 public:
  void offer(double accuracy, const SourceModel& model);
  double accuracy() const { return accuracy_; }
  const NamedTensors& state() const { return state_; }
  // Restores a saved copy.
  void resume(double accuracy, NamedTensors state);
  void restore(SourceModel& model) const { model.restore(state_); }

 private:
  double accuracy_ = -1;
  NamedTensors state_;
};

struct SourceTrainingProgress {
  int64_t step, steps;
  double accuracy;  // on the validation split, last measured; negative before the first time
};

// Of a validation set of at least this size, the even pictures choose the iterate and the odd ones calibrate it.
inline constexpr int64_t kSplitValidation = 400;

// Trains `model` in place, on its device, stores its calibration (io/calibration.h) and returns its validation
// accuracy. Resumes from the checkpointer's resume point, if there is one.
double train_source(SourceModel& model, const LabelledImages& training, const LabelledImages& validation,
                    const SourceTrainingOptions& options, uint64_t seed, Checkpointer& checkpointer,
                    const std::function<void(const SourceTrainingProgress&)>& progress = {});
// The same without checkpoints.
inline double train_source(SourceModel& model, const LabelledImages& training, const LabelledImages& validation,
                           const SourceTrainingOptions& options, uint64_t seed,
                           const std::function<void(const SourceTrainingProgress&)>& progress = {}) {
  Checkpointer none;
  return train_source(model, training, validation, options, seed, none, progress);
}

}  // namespace tributary
