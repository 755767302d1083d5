// The target pictures whose labels a run asks for: those that would help most, or a random sample for an audit.
#pragma once

#include <cstdint>
#include <vector>

#include "tributary/model/ensemble.h"
#include "tributary/train/device_images.h"

namespace tributary {

// `count` pictures to label for a further adaptation of `ensemble`, most valuable first (adapt/label_query.h). Pictures
// in `known` are not asked for. Of large sets, the most uncertain 20,000 are considered.
std::vector<int64_t> pictures_to_label(Ensemble& ensemble, const DeviceImages& images, int64_t count,
                                       const std::vector<int64_t>& known, uint64_t seed);

// The first `count` of a random order of all `pictures`, for an audit. Every beginning of it is a random sample, too.
std::vector<int64_t> audit_sample(int64_t pictures, int64_t count, uint64_t seed);

}  // namespace tributary
