// Tributary as a library: adapt several source models to unlabelled pictures, and use the result.
//
//   #include <tributary/tributary.h>
//
//   tributary::Run run = tributary::adapt({"a.safetensors", "b.safetensors"}, "photos", "runs/photos");
//   tributary::Predictions predictions = run.model().predict("photos/new");
//   run.model().export_onnx("photos.onnx");
//
// These headers are the public interface, with tributary/method.h for methods of your own; the others that are
// installed beside them are needed to compile them and may change (docs/cpp.md). The library prints nothing. Errors are
// exceptions: InputError for bad input (MissingFileError for missing files), WorkError for other failures (MemoryError
// if memory is short), Interrupted after Ctrl-C within an InterruptScope.
#pragma once

#include "tributary/api/adapt.h"
#include "tributary/api/model.h"
#include "tributary/api/pictures.h"
#include "tributary/api/settings.h"
#include "tributary/base/error.h"
#include "tributary/base/interrupt.h"
#include "tributary/methods/observer.h"
#include "tributary/run/run_listener.h"
#include "tributary/version.h"
