#include "cli/unexpected_arguments.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include "tributary/base/text.h"

namespace tributary::cli {
namespace {

std::vector<std::string> flags_of(const CLI::App& command) {
  std::vector<std::string> flags;
  for (const CLI::Option* option : command.get_options())
    for (const std::string& name : option->get_lnames()) flags.push_back("--" + name);
  return flags;
}

// The paths of the commands below `app` that have this flag.
void add_commands_with(const std::string& flag, const CLI::App& app, std::vector<std::string>& commands) {
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    const std::vector<std::string> flags = flags_of(*command);
    if (std::find(flags.begin(), flags.end(), flag) != flags.end()) commands.push_back(path_of(*command));
    add_commands_with(flag, *command, commands);
  }
}

}  // namespace

const CLI::App& parsed_command(const CLI::App& app) {
  const std::vector<const CLI::App*> parsed =
      app.get_subcommands([](const CLI::App* command) { return command->parsed(); });
  return parsed.empty() ? app : parsed_command(*parsed.front());
}

std::string path_of(const CLI::App& command) {
  const CLI::App* const parent = command.get_parent();
  return (parent == nullptr || parent->get_parent() == nullptr ? "" : path_of(*parent) + " ") + command.get_name();
}

std::string unknown_command_text(const CLI::App& app, const std::string& word) {
  std::vector<std::string> commands;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
    commands.push_back(command->get_name());
  const std::string near = nearest(word, commands);
  return fmt::format("there is no command '{}'{}", printable(word), near.empty() ? "" : "; did you mean " + near);
}

std::string unexpected_text(const CLI::App& app, const CLI::App& command) {
  const std::string word = command.remaining().front();
  if (!word.starts_with("-")) return fmt::format("'{}' was not expected here", printable(word));
  const std::string flag = word.substr(0, word.find('='));
  if (const std::string near = nearest(flag, flags_of(command)); !near.empty())
    return fmt::format("{} is not an option; did you mean {}", printable(flag), near);
  std::vector<std::string> others;
  add_commands_with(flag, app, others);
  if (others.empty()) return fmt::format("{} is not an option", printable(flag));
  return fmt::format("{} is not an option here, but one of: {}", printable(flag), fmt::join(others, ", "));
}

}  // namespace tributary::cli
