#include "tributary/benchmarks/hyper_parameters.h"

#include "tributary/base/error.h"

namespace tributary {
namespace {

struct HyperParameterRow {
  const char* name;
  HyperParameters values;
};

constexpr HyperParameterRow kHyperParameters[] = {
    {"digit-five", {64, 20, 0.2, 0.5}},
    {"office-31", {32, 20, 0.1, 0.6}},
    {"office-home/art", {32, 10, 0.2, 0.7}},
    {"office-home/clipart", {32, 10, 0.2, 0.7}},
    {"office-home/real", {32, 10, 0.2, 0.4}},
    {"office-home/product", {32, 10, 0.2, 0.3}},
    {"domainnet/clipart", {32, 10, 0.2, 0.5}},
    {"domainnet/painting", {32, 10, 0.2, 0.5}},
    {"domainnet/infograph", {32, 10, 0.2, 0.7}},
    {"domainnet/real", {32, 10, 0.2, 0.7}},
    {"domainnet/sketch", {32, 10, 0.2, 0.7}},
    {"domainnet/quickdraw", {32, 10, 0.2, 1.0}},
    {"pacs", {32, 20, 0.1, 0.6}},  // not in the paper: the values of office-31
};

}  // namespace

HyperParameters paper_hyper_parameters(const std::string& name) {
  std::string known;
  for (const HyperParameterRow& row : kHyperParameters) {
    if (name == row.name) return row.values;
    known += (known.empty() ? "" : ", ") + std::string(row.name);
  }
  input_error("--benchmark {}: unknown benchmark; choose one of: {}", name, known);
}

}  // namespace tributary
