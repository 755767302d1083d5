// Selective self-training for multi-source-free adaptation: Algorithm 1.
//
// In every round the domain weights say how much to trust each source, prototypes denoise the pseudo-labels of the
// mixture, the confident part of the target set is selected and trained on, and the rest is aligned with it in the
// joint feature space. The confident part grows until it covers the target set.
#pragma once

#include "tributary/adapt/given_labels.h"
#include "tributary/methods/method.h"
#include "tributary/methods/selective/selective_options.h"

namespace tributary {

class SelectiveSelfTraining : public Method {
 public:
  // With the labels of some target samples, if the user gave them.
  explicit SelectiveSelfTraining(SelectiveOptions options, GivenLabels given = {})
      : options_(std::move(options)), given_(std::move(given)) {}
  HeldPasses held_passes() const override { return tributary::held_passes(options_); }
  SupportedSharding supported_sharding() const override { return SupportedSharding::kEither; }
  using Method::adapt;
  void adapt(Ensemble& ensemble, const ImageSet& target, Observer& observer, Checkpointer& checkpointer) override;

 private:
  SelectiveOptions options_;
  GivenLabels given_;
};

// The same with the selective oracle (Definition 1) instead of the confidence query: it knows the true labels, and
// selects exactly the samples whose pseudo-label is right. An upper bound for selections, not a method to use.
void adapt_with_oracle(Ensemble& ensemble, const ImageSet& target, const Labels& oracle,
                       const SelectiveOptions& options, Observer& observer, Checkpointer& checkpointer);

}  // namespace tributary
