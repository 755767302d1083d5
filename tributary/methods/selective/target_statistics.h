// BatchNorm statistics of the target domain.
//
// The running statistics of a source describe its own domain. Its first predictions on the target suffer from that more
// than from its weights. Passes over the target set in training mode, without gradients or dropout, replace them.
// Networks without BatchNorm do not change.
#pragma once

#include "tributary/model/ensemble.h"
#include "tributary/train/device_images.h"

namespace tributary {

// Updates the running statistics of all sources in `passes` passes over `images`, in shuffled batches of at most 64.
// Small sets are passed more often, because each batch replaces a tenth of the statistics. A student that has not been
// taught is left out.
void adapt_batch_norm(Ensemble& ensemble, const DeviceImages& images, int64_t passes, uint64_t seed,
                      bool mixed_precision, bool leave_student_out = false);

// The running statistics of all sources, by name. They share the memory of the sources' tensors.
NamedTensors running_statistics(const Ensemble& ensemble);

}  // namespace tributary
