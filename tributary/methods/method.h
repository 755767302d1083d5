// A way to adapt an ensemble to a target domain.
//
// A method gets pictures and no labels. A new one is a class in a file of its own.
#pragma once

#include "tributary/data/image_set.h"
#include "tributary/methods/observer.h"
#include "tributary/train/snapshots.h"

namespace tributary {

class Method {
 public:
  virtual ~Method() = default;
  // Changes the sources of `ensemble` and its mixture, which must be on the device where the work is to be done. Goes
  // on from where `snapshots` says an interrupted adaptation of the same sources left off.
  virtual void adapt(Ensemble& ensemble, const ImageSet& target, Observer& observer, Snapshots& snapshots) = 0;
  // The same in one go.
  void adapt(Ensemble& ensemble, const ImageSet& target, Observer& observer) {
    Snapshots none;
    adapt(ensemble, target, observer, none);
  }
  // Whether the sources may take a batch in pieces (model/pieces.h) where memory is short.
  virtual bool works_in_pieces() const { return true; }
  // Whether ranks may divide its training (model/shared_pass.h): its losses reach a backbone's parameters by way of the
  // features alone.
  virtual bool can_be_divided() const { return true; }
};

}  // namespace tributary
