// The description of a model in its file, so that its options need not be repeated on the command line.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tributary/base/preprocessing.h"
#include "tributary/io/calibration.h"

namespace tributary {

// Smaller deviations would make numbers beyond those of float32 out of pixels.
inline constexpr double kSmallestDeviation = 1e-6;

// Input normalisation: (value / 255 - mean) / deviation, per channel.
struct Normalisation {
  std::array<double, 3> mean = {0.5, 0.5, 0.5};
  std::array<double, 3> deviation = {0.5, 0.5, 0.5};
  bool operator==(const Normalisation&) const = default;
};
inline constexpr Normalisation kClipNormalisation = {{0.48145466, 0.4578275, 0.40821073},
                                                     {0.26862954, 0.26130258, 0.27577711}};
inline constexpr Normalisation kImageNetNormalisation = {{0.485, 0.456, 0.406}, {0.229, 0.224, 0.225}};

// The strided convolution of a residual bottleneck block: the 3x3 (torchvision) or the first 1x1 (weights converted
// from Caffe or Keras).
enum class FirstStride { kIn3x3, kIn1x1 };

// The linear layer that maps features to logits, with or without weight normalisation.
enum class ClassifierKind { kWeightNorm, kLinear };

struct ModelInfo {
  std::string name;                  // for tables: the domain it was trained on
  std::string architecture;          // see backbone.h
  std::vector<std::string> classes;  // class names in the order of the logits
  std::vector<int64_t> outputs;      // the class of every output of the classifier; empty: one output per class
  Preprocessing preprocessing;
  Normalisation normalisation;
  bool bottleneck = true;           // otherwise the backbone's features are classified directly
  int64_t feature_width = 256;      // of the bottleneck, or of the backbone if there is none
  double bottleneck_dropout = 0.5;  // in training
  ClassifierKind classifier = ClassifierKind::kWeightNorm;
  FirstStride first_stride = FirstStride::kIn3x3;
  std::string last_layer;                  // of a TorchScript source without the methods `features` and `classify`
  std::optional<Calibration> calibration;  // of these weights on their own domain; none in files from elsewhere

  int64_t output_count() const { return static_cast<int64_t>(outputs.empty() ? classes.size() : outputs.size()); }
};

std::string to_json(const ModelInfo& info);

// Throws an InputError that starts with `file` if the JSON or its values are invalid.
ModelInfo model_info_from_json(const std::string& text, const std::string& file);

// The same for a non-empty list, as in files of several sources.
std::vector<ModelInfo> model_infos_from_json(const std::string& text, const std::string& file);

}  // namespace tributary
