// What a model file says about its model, so that nothing has to be repeated on the command line.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace tributary {

// How pixels become numbers: (value / 255 - mean) / deviation, a channel each.
struct Normalisation {
  std::array<double, 3> mean = {0.5, 0.5, 0.5};
  std::array<double, 3> deviation = {0.5, 0.5, 0.5};
  bool operator==(const Normalisation&) const = default;
};

struct ModelInfo {
  std::string name;                  // what tables call it: the domain it was trained on
  std::string architecture;          // see backbone.h
  std::vector<std::string> classes;  // class names in the order of the logits
  int input_size = 32;
  Normalisation normalisation;
  int64_t feature_width = 256;      // of the bottleneck
  double bottleneck_dropout = 0.5;  // in training
};

std::string to_json(const ModelInfo& info);

// Throws an InputError that begins with `file` if the text is not such an object or its values make no sense.
ModelInfo model_info_from_json(const std::string& text, const std::string& file);

}  // namespace tributary
