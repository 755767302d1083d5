// Manual pages and shell completions, written from the tables of options.
#pragma once

#include <string>
#include <vector>

#include "cli/place.h"

namespace tributary::cli {

// Writes tributary.1 and tributary-COMMAND.1 to FOLDER/man1, and the completions FOLDER/tributary.bash (bash),
// FOLDER/_tributary (zsh) and FOLDER/tributary.fish (fish).
void write_manual(const std::string& folder, const std::vector<Place>& places);

}  // namespace tributary::cli
