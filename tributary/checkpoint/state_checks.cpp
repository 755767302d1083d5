#include "tributary/checkpoint/state_checks.h"

#include <nlohmann/json.hpp>

#include "tributary/base/error.h"

namespace tributary {
namespace {

bool has_shape(const Tensor& value, const std::vector<int64_t>& shape) {
  if (!value.defined() || value.dim() != static_cast<int64_t>(shape.size())) return false;
  for (size_t i = 0; i < shape.size(); ++i)
    if (shape[i] >= 0 && value.size(static_cast<int64_t>(i)) != shape[i]) return false;
  return true;
}

}  // namespace

void damaged_checkpoint(const std::string& what) {
  input_error("the checkpoint does not fit this run, or is damaged ({}); start over with --restart", what);
}

void require_in_checkpoint(bool holds, const std::string& what) {
  if (!holds) damaged_checkpoint(what);
}

void require_integers(const Tensor& value, std::vector<int64_t> shape, int64_t low, int64_t high,
                      const std::string& what) {
  require_in_checkpoint(has_shape(value, shape) && value.scalar_type() == torch::kInt64, what);
  if (value.numel() == 0) return;
  require_in_checkpoint(value.min().item<int64_t>() >= low && value.max().item<int64_t>() < high, what);
}

void require_numbers(const Tensor& value, std::vector<int64_t> shape, const std::string& what) {
  require_in_checkpoint(has_shape(value, shape) && value.is_floating_point(), what);
  require_in_checkpoint(value.isfinite().all().item<bool>(), what);
}

std::vector<int64_t> integers_from(const nlohmann::json& list, int64_t low, int64_t high, const std::string& what) {
  require_in_checkpoint(list.is_array(), what);
  std::vector<int64_t> values;
  for (const nlohmann::json& value : list) values.push_back(integer_from(value, low, high, what));
  return values;
}

int64_t integer_from(const nlohmann::json& value, int64_t low, int64_t high, const std::string& what) {
  const bool fits = value.is_number_integer() &&
                    (!value.is_number_unsigned() || value.get<uint64_t>() <= static_cast<uint64_t>(INT64_MAX));
  require_in_checkpoint(fits && value.get<int64_t>() >= low && value.get<int64_t>() < high, what);
  return value.get<int64_t>();
}

Combination combination_from(const nlohmann::json& value) {
  const auto count = static_cast<int64_t>(combination_names().size());
  return static_cast<Combination>(integer_from(value, 0, count, "rule of the mixture"));
}

}  // namespace tributary
