// Between settings by name and the option table.
#pragma once

#include <vector>

#include "tributary/api/settings.h"
#include "tributary/base/options.h"

namespace tributary {

// The options of `table` that callers of the library may set.
std::vector<OptionInfo> option_list(const OptionTable& table);

// Gives `table` the settings, as flags would. Throws an InputError if there is no such option.
void apply_settings(OptionTable& table, const Settings& settings);

}  // namespace tributary
