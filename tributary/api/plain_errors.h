// Errors as callers of the library see them.
//
// Messages of the library name options as flags, as users of the program type them. Callers set options by name, so at
// the border of the library "--max-skipped" becomes "max_skipped". Exceptions of observers pass unchanged.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tributary/data/skipped.h"

namespace tributary {

// `text` with the names of options in place of flags: "--no-page" becomes "page = false". Paths that contain "/--" stay
// as they are.
std::string without_flags(const std::string& text);
// The pictures with such reasons.
std::vector<SkippedPicture> without_flags(std::vector<SkippedPicture> skipped);

// Calls `work` and throws its errors without flags. LibTorch's errors and those of the file system become WorkErrors,
// or MemoryErrors.
void with_plain_errors(const std::function<void()>& work);

}  // namespace tributary
