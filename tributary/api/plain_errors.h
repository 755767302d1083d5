// Errors as callers of the library see them.
//
// Messages of the library name options as flags, as users of the program type them. Callers set options by name, so at
// the border of the library "--max-skipped" becomes "max_skipped". Exceptions of observers pass unchanged.
#pragma once

#include <functional>
#include <string>

namespace tributary {

// `text` with the names of options in place of flags: "--no-page" becomes "page = false".
std::string without_flags(const std::string& text);

// Calls `work` and throws its errors without flags. LibTorch's errors become WorkErrors, or MemoryErrors.
void with_plain_errors(const std::function<void()>& work);

}  // namespace tributary
