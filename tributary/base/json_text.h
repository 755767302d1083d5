// Writes JSON that holds text of strangers.
//
// File names need not be UTF-8, and nlohmann's dump() throws on such text: a run would fail when it writes its summary.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace tributary {

// Never throws on a text: bytes that are not UTF-8 become U+FFFD. Control characters are escaped, also those beyond
// ASCII. `indent` as in nlohmann's dump(); -1 writes one line.
std::string json_text(const nlohmann::json& value, int indent = -1);

}  // namespace tributary
