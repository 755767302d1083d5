// What to say about arguments that a command does not know.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace tributary::cli {

// The innermost command that the command line names.
const CLI::App& parsed_command(const CLI::App& app);

// "data pack" for the action `pack` of `data`.
std::string path_of(const CLI::App& command);

// One clause that asks for a command, where there is none before `flag`, which may be empty.
std::string missing_command_text(const CLI::App& app, const std::string& flag);

// One clause about a word that is not a command, with the one that was probably meant.
std::string unknown_command_text(const CLI::App& app, const std::string& word);

// One clause about the first of the arguments that `command` did not expect: the flag that was probably meant, the
// commands that have it, or what to write instead.
std::string unexpected_text(const CLI::App& app, const CLI::App& command);

// One clause about a flag that may be given once but was repeated; empty for other errors.
std::string repeated_text(const CLI::ParseError& error, const CLI::App& command);

}  // namespace tributary::cli
