#include "tributary/base/json_text.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "tributary/base/text.h"

namespace tributary {

std::string json_text(const nlohmann::json& value, int indent) {
  const std::string text =
      value.dump(indent, ' ', /*ensure_ascii=*/false, nlohmann::json::error_handler_t::replace);
  // Only line feeds of the layout are left of the ASCII control characters; DEL and the others occur in strings only.
  return replace_controls(text, KeepLines::kYes,
                          [](char32_t point) { return fmt::format("\\u{:04x}", static_cast<uint32_t>(point)); });
}

}  // namespace tributary
