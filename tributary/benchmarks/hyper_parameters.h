// The hyper-parameters that the paper uses for each benchmark. PACS, which it does not have, takes those of Office-31.
#pragma once

#include <cstdint>
#include <string>

namespace tributary {

struct HyperParameters {
  int64_t batch, rounds;
  double lambda_ce, lambda_alpha;
};

// By "benchmark" or "benchmark/target", such as office-31 or office-home/art. InputError for other names.
HyperParameters paper_hyper_parameters(const std::string& name);

}  // namespace tributary
