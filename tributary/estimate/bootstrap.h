// The sampling error of an estimate that depends on the pictures.
#pragma once

#include <functional>

#include "tributary/base/tensor.h"

namespace tributary {

// The standard deviation of `statistic` over bootstrap samples of `count` pictures. It gets the pictures of a sample,
// int64 [count], each as often as it was drawn. The samples are the same at every call.
double bootstrap_deviation(int64_t count, const std::function<double(const Tensor& rows)>& statistic,
                           int64_t samples = 200);

}  // namespace tributary
