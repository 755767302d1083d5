// Commands with their actions, arguments and options, for manual pages and shell completions.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cli/command.h"

namespace tributary::cli {

struct Argument {
  std::string name;  // "FOLDER"
  std::string description;
  bool is_required = false;
  bool is_repeated = false;
};

// What may follow the words of `path` on a command line.
struct Place {
  std::string path;                                          // "", "adapt", "data", "data pack"
  std::string summary;                                       // empty for the program
  std::vector<std::pair<std::string, std::string>> actions;  // names and summaries
  std::vector<Argument> arguments;
  std::vector<const Option*> options;  // only where no action must follow
  std::string example;                 // empty if it has none of its own
  bool has_help_all = false;
};

// The program, then every command, each before its actions. `app` must hold all commands.
std::vector<Place> places_of(const CLI::App& app, const std::vector<std::unique_ptr<Command>>& commands);

// Whether a flag takes a value.
bool takes_value(const Option& option);

// Values to offer: the choices, or the values that other options of the place are for, as those of one method.
std::vector<std::string> values_of(const Option& option, const Place& place);

// Whether the value of a flag, or an argument, may be a file.
bool may_be_file(const Option& option);

// All flags of a place: "--json", "--no-json", "--help".
std::vector<std::string> flags_of(const Place& place);

std::string replaced(std::string text, const std::string& from, const std::string& to);

}  // namespace tributary::cli
