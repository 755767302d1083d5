// The rounds of an adaptation as a table with one line per round, for any method:
//
//   round  confident    share     CE     IM  align  changed  accuracy  pictures/s  time
//       0      1,203   42.7 %                                  61.3 %               3 s
//       1      1,284   45.6 %   1.12  -1.31   0.76   12.1 %    64.0 %       3,412  11 s
//
// "align" is "-" in rounds with too few unconfident pictures, and missing if nothing is aligned. "changed" is the share
// of pictures whose prediction differs from the round before; "accuracy" needs labels. Losses are means over steps and
// sources, under the method's names for them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tributary/methods/round_figures.h"

namespace tributary {

class RoundTable {
 public:
  // The lines that a round adds, without line breaks; the first call adds the titles. A method whose losses are unknown
  // before training has no line for round 0. Pass `accuracy`, a fraction, in all rounds or in none.
  std::vector<std::string> add(const RoundEvent& event, std::optional<double> accuracy = std::nullopt);

 private:
  struct Cell {
    std::string title;
    std::string text;
    int64_t least;  // minimum width
  };

  std::vector<Cell> cells_of(const RoundEvent& event, const std::string& changed, std::optional<double> accuracy) const;

  Tensor predicted_;  // in the round before
  std::string titles_;
  bool explained_ = false;  // whether a line has told why "align" is "-"
};

}  // namespace tributary
