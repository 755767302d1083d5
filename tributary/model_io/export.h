// Export of models to files that run without this program.
//
// ONNX and TorchScript models take decoded pixels (uint8 [n, s, s, 3], RGB, resized and cropped as the model's
// description says) and return the mixture's probabilities, float32 [n, classes]. Normalisation and mixing are part of
// the model. Bottleneck, BatchNorm and classifier are folded into one affine map.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "tributary/model/ensemble.h"
#include "tributary/model/layered_source.h"

namespace tributary {

// Writes an ensemble of one or more sources as an ONNX file with a dynamic batch size. Class names and preprocessing
// are in its metadata. Throws an InputError for TorchScript sources.
void export_onnx(const std::string& path, const Ensemble& ensemble);

// Writes TorchScript for torch.jit.load or LibTorch. `classes`, `size` and `resize` are attributes of the module.
void export_torchscript(const std::string& path, const Ensemble& ensemble);

// Writes a state dictionary for torch.load. A single source gets torchvision's tensor names and loads there, or timm's
// if torchvision does not have its architecture; several sources and digit networks get the names of our model files.
// Throws an InputError for TorchScript sources.
void export_state_dict(const std::string& path, const Ensemble& ensemble);

// Writes a model file in our own format (model_file.h).
void export_safetensors(const std::string& path, const Ensemble& ensemble);

// Writes what a deployment needs to know as JSON: classes, size, resize, aspect, and per source its name, architecture,
// mean and deviation (of pixels between 0 and 1; ONNX and TorchScript models apply them). ONNX files have it in their
// metadata, too, but not every runtime can read that.
void export_card(const std::string& path, const Ensemble& ensemble);
nlohmann::json export_facts(const Ensemble& ensemble);

// The map from a source's outputs to its logits (model/class_sets.h): the logarithm of the sum of exp(part(outputs))
// over all parts, times `known`. One part is linear, without exponential.
struct OutputParts {
  std::vector<Affine> parts;  // [K, outputs] and [K]; none: the outputs are the logits
  Tensor known;               // float [1, K], 1 or 0; undefined: all are known
};
OutputParts output_parts(const SourceModel& source);

// float32 [m K, m K]: the logits of all sources side by side times this matrix are the completed logits. Undefined if
// every source knows all classes.
Tensor completion_matrix(const Ensemble& ensemble);

// (value / 255 - mean) / deviation as value * scale + shift.
struct PixelScale {
  Tensor scale, shift;  // float32 [1, 3, 1, 1]
};
PixelScale pixel_scale(const Normalisation& normalisation);

}  // namespace tributary
