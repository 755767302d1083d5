// The interface of adaptation methods: sources and unlabelled target pictures in, an adapted ensemble out.
#pragma once

#include "tributary/checkpoint/checkpointer.h"
#include "tributary/data/image_set.h"
#include "tributary/methods/observer.h"
#include "tributary/model/pass_cost.h"

namespace tributary {

// How ranks may split a method's training (model/sharded_pass.h).
enum class SupportedSharding {
  kNone,    // nothing: its losses reach backbone parameters other than through the features
  kRows,    // the rows of every batch; it trains one source after the other
  kEither,  // rows or sources: it trains all sources together
};

class Method {
 public:
  virtual ~Method() = default;
  // Adapts the sources of `ensemble` and its mixture in place, on their device. Resumes from the checkpointer's resume
  // point, if there is one.
  virtual void adapt(Ensemble& ensemble, const ImageSet& target, Observer& observer, Checkpointer& checkpointer) = 0;
  // The same without checkpoints.
  void adapt(Ensemble& ensemble, const ImageSet& target, Observer& observer) {
    Checkpointer none;
    adapt(ensemble, target, observer, none);
  }
  // Whether sources may recompute activations (model/pass_memory.h) if memory is short.
  virtual bool supports_recomputation() const { return true; }
  // The passes that its steps hold at the same time.
  virtual HeldPasses held_passes() const { return {}; }
  // How ranks may split its training.
  virtual SupportedSharding supported_sharding() const { return SupportedSharding::kRows; }
};

}  // namespace tributary
