// Options as text: flags, TOML paths and values. Shared by the files of OptionTable.
#pragma once

#include <string>

#include "tributary/base/options.h"
#include "tributary/base/toml.h"

namespace tributary {

std::string flag_of(const Option& option);  // "--inner-epochs"
std::string flag_of_key(std::string key);
std::string path_of(const std::string& section, const std::string& key);  // "adapt.inner_epochs"

std::string flags_text(const Option& option);      // as the help shows it: "--inner-epochs COUNT", "--live, --no-live"
std::string description_of(const Option& option);  // its help with default and allowed values

std::string number_text(double value);           // the shortest text that TOML reads as the same floating-point number
std::string toml_of(const OptionValue& value);   // as TOML
std::string plain_of(const OptionValue& value);  // as typed on a command line
std::string text_of_node(const toml::node& node);

}  // namespace tributary
