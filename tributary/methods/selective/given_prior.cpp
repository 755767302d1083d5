#include "tributary/methods/selective/given_prior.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <sstream>

#include "tributary/base/error.h"
#include "tributary/base/files.h"
#include "tributary/base/text.h"

namespace tributary {
namespace {

std::optional<double> share_of(const std::string& text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value) || value < 0) return {};
  return value;
}

}  // namespace

Tensor read_class_prior(const std::string& path, const std::vector<std::string>& classes) {
  std::vector<double> shares(classes.size(), -1);
  std::istringstream lines(read_text(path));
  int64_t number = 0;
  double total = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    if (!line.empty() && line.back() == '\r') line.pop_back();
    if (line.empty()) continue;
    const size_t gap = line.find_last_of(" \t,");
    const std::optional<double> share = gap == std::string::npos ? std::nullopt : share_of(line.substr(gap + 1));
    if (!share) input_error("{}, line {}: write a class and its share, as in \"cat 0.25\"", path, number);
    const std::string name = line.substr(0, line.find_last_not_of(" \t,", gap) + 1);
    const auto known = std::find(classes.begin(), classes.end(), name);
    if (known == classes.end()) input_error("{}, line {}: the sources have no class {}", path, number, printable(name));
    double& own = shares[static_cast<size_t>(known - classes.begin())];
    if (own >= 0) input_error("{}, line {}: class {} is named twice", path, number, printable(name));
    own = *share;
    total += *share;
  }
  for (size_t k = 0; k < classes.size(); ++k)
    if (shares[k] < 0) input_error("{} has no line for class {}", path, printable(classes[k]));
  if (!(total > 0) || !std::isfinite(total))
    input_error("{}: the shares sum to {}; at least one must be positive", path, total);
  return (torch::tensor(shares, torch::kFloat64) / total).to(torch::kFloat32);
}

}  // namespace tributary
