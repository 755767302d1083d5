// The precision of convolutions and matrix products. Weights and losses are always float32.
#pragma once

#include <string>

#include "tributary/base/options.h"

namespace tributary {

enum class Precision { kAuto, kFloat32, kBfloat16 };  // auto: bfloat16 on a GPU; a CPU always takes float32

inline bool is_mixed(Precision precision) {
  return precision != Precision::kFloat32;
}

inline void declare(OptionTable& table, const std::string& section, Precision& precision) {
  table.choice(section, "precision", &precision,
               {{"auto", Precision::kAuto}, {"float32", Precision::kFloat32}, {"bfloat16", Precision::kBfloat16}},
               "of convolutions and matrix products; auto is bfloat16 on a GPU, a CPU always takes float32");
}

}  // namespace tributary
