// What a model file says about its model, so that nothing has to be repeated on the command line.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "tributary/base/preprocessing.h"

namespace tributary {

// How pixels become numbers: (value / 255 - mean) / deviation, a channel each.
struct Normalisation {
  std::array<double, 3> mean = {0.5, 0.5, 0.5};
  std::array<double, 3> deviation = {0.5, 0.5, 0.5};
  bool operator==(const Normalisation&) const = default;
};
inline constexpr Normalisation kImageNetNormalisation = {{0.485, 0.456, 0.406}, {0.229, 0.224, 0.225}};

// Which convolution of a residual bottleneck block has the stride: torchvision's 3x3, or the first 1x1 in weights that
// come from Caffe or Keras.
enum class FirstStride { kIn3x3, kIn1x1 };

// What turns features into logits: the weight-normalised layer of spec 10, or a plain one.
enum class ClassifierKind { kWeightNorm, kLinear };

struct ModelInfo {
  std::string name;                  // what tables call it: the domain it was trained on
  std::string architecture;          // see backbone.h
  std::vector<std::string> classes;  // class names in the order of the logits
  Preprocessing preprocessing;
  Normalisation normalisation;
  bool bottleneck = true;           // else the backbone's own features are classified
  int64_t feature_width = 256;      // of the bottleneck, or of the backbone where there is none
  double bottleneck_dropout = 0.5;  // in training
  ClassifierKind classifier = ClassifierKind::kWeightNorm;
  FirstStride first_stride = FirstStride::kIn3x3;
  std::string last_layer;  // of a TorchScript source without the methods `features` and `classify`
};

std::string to_json(const ModelInfo& info);

// Throws an InputError that begins with `file` if the text is not such an object or its values make no sense.
ModelInfo model_info_from_json(const std::string& text, const std::string& file);

// The same for a list of one or more, as a mixture's file has it.
std::vector<ModelInfo> model_infos_from_json(const std::string& text, const std::string& file);

}  // namespace tributary
