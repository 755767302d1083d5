// A way to adapt an ensemble to a target domain.
//
// A method gets pictures and no labels. A new one is a class in a file of its own.
#pragma once

#include "tributary/checkpoint/checkpointer.h"
#include "tributary/data/image_set.h"
#include "tributary/methods/observer.h"

namespace tributary {

// What of a method's training ranks may divide (model/sharded_pass.h).
enum class Division {
  kNone,    // its losses reach a backbone's parameters in other ways than through the features
  kRows,    // the rows of every batch; it moves one source after the other
  kEither,  // rows or sources, which it moves together
};

class Method {
 public:
  virtual ~Method() = default;
  // Changes the sources of `ensemble` and its mixture, which must be on the device where the work is to be done. Goes
  // on from where `checkpointer` says an interrupted adaptation of the same sources left off.
  virtual void adapt(Ensemble& ensemble, const ImageSet& target, Observer& observer, Checkpointer& checkpointer) = 0;
  // The same in one go.
  void adapt(Ensemble& ensemble, const ImageSet& target, Observer& observer) {
    Checkpointer none;
    adapt(ensemble, target, observer, none);
  }
  // Whether the sources may take a batch in pieces (model/micro_batch.h) where memory is short.
  virtual bool supports_micro_batches() const { return true; }
  // How ranks may divide its training.
  virtual Division division() const { return Division::kRows; }
};

}  // namespace tributary
