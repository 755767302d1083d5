// Reads integers of JSON that strangers may have written.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>

namespace tributary {

// Throws nlohmann's type_error if the value is no integer, as 2.5 and 1e30: get<int64_t>() would convert these, which
// is undefined beyond the range. Integers beyond it become the largest.
inline int64_t whole_number(const nlohmann::json& value) {
  if (value.is_number_unsigned())
    return static_cast<int64_t>(
        std::min(value.get<uint64_t>(), static_cast<uint64_t>(std::numeric_limits<int64_t>::max())));
  return value.get_ref<const nlohmann::json::number_integer_t&>();
}

// The same of a member that may be missing.
inline int64_t whole_number(const nlohmann::json& object, const std::string& key, int64_t otherwise) {
  const auto found = object.find(key);
  return found == object.end() ? otherwise : whole_number(*found);
}

}  // namespace tributary
