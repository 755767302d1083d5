// The rounds of an adaptation as a table that grows by a line each, whatever the method:
//
//   round  confident    share     CE     IM  align  changed  pictures/s  time
//       0      1,203   42.7 %                                             3 s
//       1      1,284   45.6 %   1.12  -1.31   0.76   12.1 %      3,412  11 s
//
// "changed" is the share of pictures whose prediction is another than a round earlier. Losses are means over the steps
// and the sources; a method's own losses have its own names.
#pragma once

#include <string>
#include <vector>

#include "tributary/methods/observer.h"

namespace tributary {

class RoundTable {
 public:
  // The lines that a round adds, without line breaks. The titles come first; a method whose losses are not known before
  // its first training has no line for round 0.
  std::vector<std::string> add(const RoundEvent& event);

 private:
  struct Cell {
    std::string title;
    std::string text;
    int64_t least;  // columns
  };

  std::vector<Cell> cells_of(const RoundEvent& event, const std::string& changed) const;

  Tensor predicted_;  // a round earlier
  std::string titles_;
};

}  // namespace tributary
