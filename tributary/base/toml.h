// The one door through which TOML comes in: configurations, benchmarks of the user's own, run folders.
#pragma once

#include <toml++/toml.h>

#include <string>
#include <string_view>

namespace tributary {

// The table a text holds; `name` stands for its file in messages. An InputError with the line where it is not TOML, and
// where its keys could nest so deep that taking the table down would overflow the stack.
toml::table parse_toml(std::string_view text, const std::string& name);

}  // namespace tributary
