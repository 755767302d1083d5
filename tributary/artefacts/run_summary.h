// Formats the summary of a finished run:
//
//   verdict      check: the accuracy may be as low as 77 %, below the required 80 %
//   estimated    80 % (71 to 88) → 85 % (77 to 93), without labels
//   check        310 of 25,000 pictures; of the others, about 2 % are wrong
//   accuracy     87.5 → 93.1 % in the last round
//   trusted      syn 58.9 %, usps 14.2 %, mnist_m 13.7 %, mnist 13.2 %
//   confident    ▁▂▃▄▅▆▇█  21,245 at the start, 25,000 in the end, of 25,000
//   changed      17.1 % of the predictions since the start
//
//   25,000 pictures, 20 rounds, 33 s
//   model        runs/svhn/model.safetensors
//   predictions  runs/svhn/predictions.csv
//
// The first three are those of run/result_estimate.h. The accuracy, before and after, needs labels; a warning follows
// if it fell. The confident set a method that selects
// one. Skipped pictures are counted separately: "25,000 pictures (3 more skipped), ...".
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace tributary {

// `summary` is the content of summary.json.
std::string run_summary_text(const nlohmann::json& summary);

}  // namespace tributary
