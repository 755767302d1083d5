// Names of transformers and modern convolutional networks in other libraries, translated to timm's.
//
// Hugging Face, OpenAI's CLIP, the repositories of DINOv2, ConvNeXt and Swin, and older releases of torchvision and
// timm store the same tensors under other names. Some store queries, keys and values apart, which timm joins in one
// tensor.
#pragma once

#include <string>
#include <vector>

namespace tributary {

struct TranslatedName {
  std::string name;  // timm's or torchvision's; empty for tensors that carry no weights, and for the text tower of CLIP
  int part = -1;     // 0, 1 or 2: the first, second or third part of that tensor; -1: all of it
};

// Names without a translation are unchanged.
std::vector<TranslatedName> translate_names(const std::vector<std::string>& names);

// Whether the names are those of CLIP in OpenAI's or Hugging Face's files, whose activation is quick GELU.
bool is_clip(const std::vector<std::string>& names);

}  // namespace tributary
