// The hyper-parameters per benchmark: the paper's, and those of compared methods that depend on the benchmark. PACS,
// which the paper does not have, takes those of Office-31.
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

// Below, `benchmark` is as above or any other text. Unknown ones take the defaults of photographs or of digits.

struct NrcHyperParameters {
  int64_t near, expanded;              // K_n neighbours, and M_n neighbours of each
  int64_t later_near, later_expanded;  // in the second half of the steps
  double rate_backbone, rate_head;
  bool decay;  // learning rates and weight decay: falling with 1e-3, or constant with 5e-4
  int64_t epochs;
};
NrcHyperParameters nrc_hyper_parameters(const std::string& benchmark);

struct AadHyperParameters {
  int64_t neighbours, later_neighbours;  // K_n, and K_n in the second half of the steps
  double beta;                           // how fast the dispersion fades
  bool decay;                            // learning rates and weight decay: falling with 1e-3, or constant with 5e-4
  int64_t epochs;
};
AadHyperParameters aad_hyper_parameters(const std::string& benchmark, bool photographs, int64_t classes,
                                        int64_t pictures);

struct CowaHyperParameters {
  double rate_backbone, rate_bottleneck;  // the classifier takes a tenth of the bottleneck's
  double alpha;                           // of mixup
  int64_t warm_up, epochs;
  double epsilon;  // of covariances
};
CowaHyperParameters cowa_hyper_parameters(const std::string& benchmark, bool photographs);

}  // namespace tributary
