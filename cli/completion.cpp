#include "cli/completion.h"

#include <fmt/ranges.h>

#include "tributary/base/option_values.h"

namespace tributary::cli {
namespace {

std::vector<std::string> names_of_actions(const Place& place) {
  std::vector<std::string> names;
  for (const auto& [name, summary] : place.actions) names.push_back(name);
  return names;
}

// The paths of at least one word: "adapt|data|data pack".
std::string paths_of(const std::vector<Place>& places, const std::string& between) {
  std::vector<std::string> paths;
  for (const Place& place : places)
    if (!place.path.empty()) paths.push_back(place.path);
  return fmt::format("{}", fmt::join(paths, between));
}

// As one word of bash and zsh.
std::string quoted(const std::string& text) {
  return "'" + replaced(text, "'", "'\\''") + "'";
}

// As one word of fish.
std::string fish_quoted(const std::string& text) {
  return "'" + replaced(replaced(text, "\\", "\\\\"), "'", "\\'") + "'";
}

// Text within a specification of zsh, in which these characters end a part.
std::string zsh_escaped(std::string text) {
  for (const std::string special : {"\\", ":", "[", "]"}) text = replaced(text, special, "\\" + special);
  return text;
}

// The arguments of _arguments for one option.
std::string zsh_option(const Option& option, const Place& place) {
  const std::string flag = flag_of(option), help = zsh_escaped(option.help);
  if (!takes_value(option))
    return fmt::format("        {} \\\n        {} \\\n", quoted(fmt::format("{}[{}]", flag, help)),
                       quoted(fmt::format("--no-{}[not: {}]", flag.substr(2), help)));
  const std::vector<std::string> values = values_of(option, place);
  const std::string action = !values.empty()       ? fmt::format("({})", fmt::join(values, " "))
                             : may_be_file(option) ? "_files"
                                                   : " ";
  return fmt::format("        {} \\\n", quoted(fmt::format("*{}[{}]:value:{}", flag, help, action)));
}

}  // namespace

std::string bash_completion(const std::vector<Place>& places) {
  std::string words, values;
  for (const Place& place : places) {
    words += fmt::format("    {}) actions={} flags={} ;;\n", quoted(place.path),
                         quoted(fmt::format("{}", fmt::join(names_of_actions(place), " "))),
                         quoted(fmt::format("{}", fmt::join(flags_of(place), " "))));
    for (const Option* option : place.options)
      if (const std::vector<std::string> known = values_of(*option, place); !known.empty())
        values += fmt::format("    {}) values={} ;;\n", quoted(place.path + " " + flag_of(*option)),
                              quoted(fmt::format("{}", fmt::join(known, " "))));
      else if (takes_value(*option) && !may_be_file(*option))
        values += fmt::format("    {}) return ;;\n", quoted(place.path + " " + flag_of(*option)));
  }
  return fmt::format(
      R"(# bash completion of tributary, written by tributary options --manual
_tributary() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD-1]}} path= actions= flags= values= i
  COMPREPLY=()
  if [ "$word" = = ]; then word=; elif [ "$before" = = ]; then before=${{COMP_WORDS[COMP_CWORD-2]}}; fi
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "|{}|" in
      *"|${{path:+$path }}${{COMP_WORDS[i]}}|"*) path=${{path:+$path }}${{COMP_WORDS[i]}} ;;
      *) break ;;
    esac
  done
  case $path in
{}  esac
  case "$path $before" in
{}  esac
  if [ -n "$values" ]; then
    COMPREPLY=($(compgen -W "$values" -- "$word"))
  elif [[ $word == -* ]]; then
    COMPREPLY=($(compgen -W "$flags" -- "$word"))
  elif [ -n "$actions" ]; then
    COMPREPLY=($(compgen -W "$actions" -- "$word"))
  else
    compopt -o filenames 2>/dev/null
    COMPREPLY=($(compgen -f -- "$word"))
  fi
}}
complete -F _tributary tributary
)",
      paths_of(places, "|"), words, values);
}

std::string zsh_completion(const std::vector<Place>& places) {
  std::string cases;
  for (const Place& place : places) {
    cases += fmt::format("  {})\n", quoted(place.path));
    if (!place.actions.empty()) {
      cases += "    local -a actions=(\n";
      for (const auto& [name, summary] : place.actions)
        cases += fmt::format("      {}\n", quoted(name + ":" + zsh_escaped(summary)));
      cases += "    )\n    [[ $PREFIX == -* ]] || { _describe command actions; return; }\n";
    }
    cases += "    _arguments \\\n        '--help[print the help]' \\\n";
    if (place.path.empty()) cases += "        '--version[print the versions]' \\\n";
    if (place.has_help_all) cases += "        '--help-all[print all options]' \\\n";
    for (const Option* option : place.options) cases += zsh_option(*option, place);
    cases += "        '*:file:_files'\n    ;;\n";
  }
  return fmt::format(R"(#compdef tributary
# zsh completion of tributary, written by tributary options --manual
local place=
while (( CURRENT > 2 )) && [[ "|{}|" == *"|${{place:+$place }}$words[2]|"* ]]; do
  place=${{place:+$place }}$words[2]
  shift words
  (( CURRENT-- ))
done
case $place in
{}esac
)",
                     paths_of(places, "|"), cases);
}

std::string fish_completion(const std::vector<Place>& places) {
  std::string lines;
  const auto add = [&lines](const Place& place, const std::string& what, const std::string& help) {
    lines +=
        fmt::format("complete -c tributary -n '__tributary_at \"{}\"' {} -d {}\n", place.path, what, fish_quoted(help));
  };
  for (const Place& place : places) {
    for (const auto& [name, summary] : place.actions) add(place, "-f -a " + name, summary);
    add(place, "-l help", "print the help");
    if (place.path.empty()) add(place, "-l version", "print the versions");
    if (place.has_help_all) add(place, "-l help-all", "print all options");
    for (const Option* option : place.options) {
      const std::string flag = flag_of(*option).substr(2);
      const std::vector<std::string> values = values_of(*option, place);
      if (!takes_value(*option)) {
        add(place, "-l " + flag, option->help);
        add(place, "-l no-" + flag, "not: " + option->help);
      } else if (!values.empty()) {
        add(place, fmt::format("-l {} -x -a '{}'", flag, fmt::join(values, " ")), option->help);
      } else {
        add(place, fmt::format("-l {} {}", flag, may_be_file(*option) ? "-r -F" : "-x"), option->help);
      }
    }
  }
  return fmt::format(R"(# fish completion of tributary, written by tributary options --manual
function __tributary_at
  set -l path
  for word in (commandline -opc)[2..-1]
    set -l longer (string trim -- "$path $word")
    contains -- $longer '{}'; or break
    set path $longer
  end
  test "$path" = "$argv[1]"
end
{})",
                     paths_of(places, "' '"), lines);
}

}  // namespace tributary::cli
