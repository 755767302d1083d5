// Formats the summary of a finished run:
//
//   accuracy     87.5 → 93.1 % in the last round
//   trusted      syn 58.9 %, usps 14.2 %, mnist_m 13.7 %, mnist 13.2 %
//   confident    ▁▂▃▄▅▆▇█  21,245 at the start, 25,000 in the end, of 25,000
//   changed      17.1 % of the predictions since the start
//
//   25,000 pictures, 20 rounds, 33 s
//   model        runs/svhn/model.safetensors
//   predictions  runs/svhn/predictions.csv
//
// The accuracy, before and after, needs labels; a warning follows if it fell. The confident set a method that selects
// one. Skipped pictures are counted separately: "25,000 pictures (3 more skipped), ...".
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace tributary {

// `summary` is the content of summary.json.
std::string run_summary_text(const nlohmann::json& summary);

}  // namespace tributary
