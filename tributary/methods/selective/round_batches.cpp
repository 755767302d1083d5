#include "tributary/methods/selective/round_batches.h"

#include <algorithm>
#include <cmath>

namespace tributary {
namespace {

// The smallest batch, unless the set has fewer pictures.
int64_t least_of(const SelectiveOptions& options) {
  return std::max<int64_t>(2, std::llround(options.least_batch * static_cast<double>(options.batch)));
}

int64_t batches_of(const Tensor& index, const SelectiveOptions& options) {
  const int64_t full = index.size(0) / options.batch, rest = index.size(0) % options.batch;
  return std::max<int64_t>(1, full + (rest >= least_of(options) ? 1 : 0));
}

Random shuffle(const SelectiveOptions& options, int64_t round, uint64_t which) {
  return Random(static_cast<uint64_t>(options.seed), Purpose::kShuffle, {static_cast<uint64_t>(round), which});
}

}  // namespace

RoundBatches::RoundBatches(const Selection& selection, const SelectiveOptions& options, int64_t round)
    : paired_(options.pairing == LoaderPairing::kPaired),
      confident_rows_(selection.confident.cpu()),
      unconfident_rows_(selection.unconfident.cpu()),
      confident_(confident_rows_, options.batch, shuffle(options, round, 0), least_of(options)) {
  const bool passes =
      options.unconfident_pass || options.lambda_adv > 0 || options.information_set == InformationSet::kAll;
  if (passes && unconfident_rows_.size(0) >= least_of(options))
    unconfident_.emplace(unconfident_rows_, options.batch, shuffle(options, round, 1), least_of(options));
  steps_ = options.inner_epochs *
           std::max(batches_of(confident_rows_, options), unconfident_ ? batches_of(unconfident_rows_, options) : 0);
}

StepRows RoundBatches::next() {
  if (paired_ && unconfident_ && (confident_.exhausted() || unconfident_->exhausted())) {
    confident_.restart();
    unconfident_->restart();
  }
  const Tensor confident = confident_rows_.index_select(0, confident_.next());
  return {confident, unconfident_ ? unconfident_rows_.index_select(0, unconfident_->next()) : Tensor()};
}

}  // namespace tributary
