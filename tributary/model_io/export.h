// Models on their way out: one file that runs without this program.
//
// ONNX and TorchScript files take pixels as they come out of a decoder (uint8 [n, s, s, 3], RGB, framed as the model's
// description says) and give the mixture's probabilities [n, classes]; normalisation and mixing are inside. Bottleneck,
// BatchNorm and classifier go out as the one affine map that they are in evaluation.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "tributary/model/ensemble.h"

namespace tributary {

// An ensemble of one or many sources as an ONNX file with a free batch size. Class names and framing are in its
// metadata. TorchScript sources cannot go this way: an InputError says to distil them.
void export_onnx(const std::string& path, const Ensemble& ensemble);

// The same as TorchScript, for torch.jit.load or LibTorch. `classes`, `size` and `resize` are attributes of the module.
void export_torchscript(const std::string& path, const Ensemble& ensemble);

// Tensors for torch.load. One source of a torchvision network goes out under torchvision's names and loads there; all
// else under the names of our own files. TorchScript sources are refused.
void export_state_dict(const std::string& path, const Ensemble& ensemble);

// The model's file in our own format.
void export_safetensors(const std::string& path, const Ensemble& ensemble);

// What whoever deploys a model needs to know, as a JSON file: classes, size, resize, aspect, sources. ONNX files have
// it in their metadata, which not every runtime can read.
void export_card(const std::string& path, const Ensemble& ensemble);
nlohmann::json export_facts(const Ensemble& ensemble);

// (value / 255 - mean) / deviation as value * scale + shift, float [1, 3, 1, 1].
struct PixelScale {
  Tensor scale, shift;
};
PixelScale pixel_scale(const Normalisation& normalisation);

}  // namespace tributary
