// Shell completions, written from the tables of options.
#pragma once

#include <string>
#include <vector>

#include "cli/place.h"

namespace tributary::cli {

// Each completes commands, their actions, flags with the values of choices, and files.
std::string bash_completion(const std::vector<Place>& places);
std::string zsh_completion(const std::vector<Place>& places);
std::string fish_completion(const std::vector<Place>& places);

}  // namespace tributary::cli
