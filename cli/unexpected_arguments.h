// What to say about arguments that a command does not know.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace tributary::cli {

// The innermost command that the command line names.
const CLI::App& parsed_command(const CLI::App& app);

// "data pack" for the action `pack` of `data`.
std::string path_of(const CLI::App& command);

// One clause about a word that is not a command, with the one that was probably meant.
std::string unknown_command_text(const CLI::App& app, const std::string& word);

// One clause about the first of the arguments that `command` did not expect: the flag that was probably meant, or the
// commands that have it.
std::string unexpected_text(const CLI::App& app, const CLI::App& command);

}  // namespace tributary::cli
