#include "cli/place.h"

#include <algorithm>

#include "tributary/base/option_values.h"

namespace tributary::cli {
namespace {

std::vector<Argument> arguments_of(const CLI::App& app) {
  std::vector<Argument> arguments;
  for (const CLI::Option* option : app.get_options())
    if (option->get_positional())
      arguments.push_back(
          {option->get_type_name(), option->get_description(), option->get_required(), option->get_expected_max() > 1});
  return arguments;
}

// The options of a command, or of that action of it.
const OptionTable& table_of(const Command& command, const std::string& action) {
  for (const FurtherOptions& further : command.further_options())
    if (further.action == action) return further.options;
  return command.options();
}

std::string example_of(const Command& command, const std::string& path) {
  for (const FurtherOptions& further : command.further_options())
    if (command.name() + " " + further.action == path) return further.example;
  return path == command.name() ? command.example() : "";
}

void add_places(std::vector<Place>& places, const CLI::App& app, const Command& command, const std::string& before) {
  Place place;
  place.path = before.empty() ? app.get_name() : before + " " + app.get_name();
  place.summary = app.get_description();
  place.arguments = arguments_of(app);
  place.example = example_of(command, place.path);
  place.has_help_all = app.get_help_all_ptr() != nullptr;
  const std::vector<const CLI::App*> actions = app.get_subcommands({});
  for (const CLI::App* action : actions) place.actions.emplace_back(action->get_name(), action->get_description());
  if (actions.empty())
    for (const Option& option : table_of(command, app.get_name()).options()) place.options.push_back(&option);
  const std::string path = place.path;
  places.push_back(std::move(place));
  for (const CLI::App* action : actions) add_places(places, *action, command, path);
}

}  // namespace

std::vector<Place> places_of(const CLI::App& app, const std::vector<std::unique_ptr<Command>>& commands) {
  std::vector<Place> places(1);
  for (const auto& command : commands) {
    places.front().actions.emplace_back(command->name(), command->summary());
    add_places(places, *app.get_subcommand(command->name()), *command, "");
  }
  return places;
}

bool takes_value(const Option& option) {
  return !std::holds_alternative<bool>(option.initial);
}

std::vector<std::string> values_of(const Option& option, const Place& place) {
  std::vector<std::string> values = option.choices;
  if (values.empty())
    for (const Option* other : place.options)
      if (other->condition_key == option.key && std::ranges::find(values, other->condition_value) == values.end())
        values.push_back(other->condition_value);
  return values;
}

bool may_be_file(const Option& option) {
  return option.choices.empty() && !std::holds_alternative<bool>(option.initial) &&
         !std::holds_alternative<int64_t>(option.initial) && !std::holds_alternative<double>(option.initial);
}

std::vector<std::string> flags_of(const Place& place) {
  std::vector<std::string> flags = {"--help"};
  if (place.path.empty()) flags.emplace_back("--version");
  if (place.has_help_all) flags.emplace_back("--help-all");
  for (const Option* option : place.options) {
    flags.push_back(flag_of(*option));
    if (!takes_value(*option)) flags.push_back("--no-" + flag_of(*option).substr(2));
  }
  return flags;
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
  return text;
}

}  // namespace tributary::cli
