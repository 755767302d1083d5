// Distillation (docs/method.md, Distillation): a mixture of many networks in, one student of ordinary size out.
//
// The student learns to predict what the mixture predicts for the same augmented pictures. The teachers do not change;
// all parts of the student are trained, its classifier included. No labels are involved.
#pragma once

#include <functional>

#include "tributary/base/options.h"
#include "tributary/checkpoint/checkpointer.h"
#include "tributary/data/image_set.h"
#include "tributary/model/ensemble.h"
#include "tributary/train/augmentation.h"
#include "tributary/train/sgd.h"

namespace tributary {

enum class TeacherLabels { kHard, kSoft };
// What the teachers see: the student's augmented batch, or the unaugmented pictures, once.
enum class TeacherView { kBatch, kTest };

struct DistillationOptions {
  int64_t epochs = 0;  // 0: 15 for photographs, 30 for digits
  int64_t batch = 0;   // 0: 32 for photographs, 64 for digits
  double rate = 1e-2;
  double backbone_factor = 1;  // of the rate, for the backbone
  TeacherLabels labels = TeacherLabels::kHard;
  double temperature = 1;  // of soft labels
  TeacherView view = TeacherView::kBatch;
  SgdOptions sgd;
  Augmentation augmentation;
};

void declare(OptionTable& table, DistillationOptions& options);

// Cross-entropy of the student's logits [n, K] with the class that the mixture's probabilities [n, K] put first.
Tensor hard_distillation_loss(const Tensor& logits, const Tensor& teacher);
// -T^2 mean_i sum_k q_ik log softmax(z_i / T)_k with q = softmax(log p / T), p the mixture's probabilities.
Tensor soft_distillation_loss(const Tensor& logits, const Tensor& teacher, double temperature);

struct DistillationProgress {
  int64_t step, steps;
  double loss;  // of a recent step; NaN before the first was read
};

// Trains `student` in place, on its device, where the teachers must be too. Its preprocessing must equal theirs.
// Resumes from the checkpointer's resume point, if there is one.
void distill(SourceModel& student, Ensemble& teachers, const ImageSet& target, const DistillationOptions& options,
             uint64_t seed, Checkpointer& checkpointer,
             const std::function<void(const DistillationProgress&)>& progress = {});
// The same without checkpoints.
inline void distill(SourceModel& student, Ensemble& teachers, const ImageSet& target,
                    const DistillationOptions& options, uint64_t seed,
                    const std::function<void(const DistillationProgress&)>& progress = {}) {
  Checkpointer none;
  distill(student, teachers, target, options, seed, none, progress);
}

}  // namespace tributary
