#include "cli/unexpected_arguments.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include "tributary/base/message.h"
#include "tributary/base/option_values.h"
#include "tributary/base/text.h"
#include "tributary/data/image/decode.h"
#include "tributary/model_io/import_weights.h"

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

// The option that was probably meant: the shortest that `flag` is the beginning of, or the one with the nearest name.
std::string meant_option(const std::string& flag, const std::vector<std::string>& flags) {
  constexpr size_t kShortest = 5;  // "--arc"
  std::string meant;
  for (const std::string& candidate : flags)
    if (flag.size() >= kShortest && candidate.starts_with(flag) && (meant.empty() || candidate.size() < meant.size()))
      meant = candidate;
  return meant.empty() ? nearest(flag, flags) : meant;
}

std::vector<std::string> names_of_commands(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(command->get_name());
  return names;
}

// About a word that no flag takes: what to write instead.
std::string surplus_text(const std::string& word, const CLI::App& command) {
  const std::string what = fmt::format("'{}' was not expected here", printable(word));
  if (looks_like_picture_name(word)) return what + "; name the folder of the pictures, or a list file";
  const std::string footer = command.get_footer();
  const size_t example = footer.find("tributary " + path_of(command) + " ");
  if (example == std::string::npos) return what;
  return what + "; write it after a flag, as in: " + first_line(footer.substr(example));
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
  const std::string near = nearest(word, names_of_commands(app));
  return fmt::format("there is no command '{}'{}", printable(word), near.empty() ? "" : "; did you mean " + near);
}

std::string missing_command_text(const CLI::App& app, const std::string& flag) {
  return fmt::format("name a command{}: {}", flag.empty() ? "" : " before " + printable(flag),
                     fmt::join(names_of_commands(app), ", "));
}

std::string unexpected_text(const CLI::App& app, const CLI::App& command) {
  const std::string word = command.remaining().front();
  if (!word.starts_with("-"))
    return names_of_commands(command).empty() ? surplus_text(word, command) : unknown_command_text(command, word);
  const std::string flag = word.substr(0, word.find('='));
  if (const std::string near = meant_option(flag, flags_of(command)); !near.empty())
    return fmt::format("{} is not an option; did you mean {}", printable(flag), near);
  std::vector<std::string> others;
  add_commands_with(flag, app, others);
  if (others.empty()) return fmt::format("{} is not an option", printable(flag));
  return fmt::format("{} is not an option of {}, but of: {}", printable(flag), path_of(command),
                     fmt::join(others, ", "));
}

std::string repeated_text(const CLI::ParseError& error, const CLI::App& command) {
  const std::string what = first_line(error.what());
  const size_t end = what.find(": At Most 1 required");
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) == nullptr || end == std::string::npos) return {};
  const std::string flag = what.substr(0, end);
  OptionTable of_one_source;
  ImportOptions import;
  tributary::declare(of_one_source, import);
  const std::string given = flag + " was given more than once";
  for (const Option& option : of_one_source.options())
    if (flag == flag_of_key(option.key) && path_of(command) != "train")
      return fmt::format("{}; an option of one source follows its file, as in weights.pth:{}=VALUE", given,
                         flag.substr(2));
  return given + "; give it once";
}

}  // namespace tributary::cli
