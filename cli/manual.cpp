#include "cli/manual.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "tributary/base/files.h"
#include "tributary/base/option_values.h"
#include "tributary/base/text.h"
#include "tributary/version.h"

namespace tributary::cli {
namespace {

using Commands = std::vector<std::unique_ptr<Command>>;

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
  return text;
}

// Text of a manual page: groff reads - as a hyphen, and a dot or quote at the start of a line as a request.
std::string roff(const std::string& text) {
  const std::string plain = replaced(replaced(text, "\\", "\\e"), "-", "\\-");
  return plain.starts_with('.') || plain.starts_with('\'') ? "\\&" + plain : plain;
}

std::string heading(const std::string& name, const std::string& summary) {
  std::string capitals = name;
  std::transform(capitals.begin(), capitals.end(), capitals.begin(), [](unsigned char c) { return std::toupper(c); });
  return fmt::format(".TH {} 1 \"\" \"tributary {}\" \"User Commands\"\n.SH NAME\n{} \\- {}\n", roff(capitals),
                     kVersion, roff(name), roff(summary));
}

std::string option_items(const OptionTable& table) {
  std::string items;
  for (const Option& option : table.options())
    items += fmt::format(".TP\n.B {}\n{}\n", roff(flags_text(option)), roff(description_of(option)));
  return items;
}

std::string command_page(const Command& command) {
  std::string page = heading("tributary-" + command.name(), command.summary());
  page += fmt::format(".SH SYNOPSIS\n.B tributary {}\n[\\fIARGUMENTS\\fR] [\\fIOPTIONS\\fR]\n.SH OPTIONS\n{}",
                      roff(command.name()), option_items(command.options()));
  for (const FurtherOptions& further : command.further_options())
    page += fmt::format(".SH OPTIONS OF {} {}\n{}", roff(command.name()), roff(further.action),
                        option_items(further.options));
  return page + fmt::format(".SH EXAMPLE\n.nf\n{}\n.fi\n.SH SEE ALSO\n.BR tributary (1)\n", roff(command.example()));
}

std::string program_page(const Commands& commands) {
  std::string page = heading("tributary", "adapt several image classifiers together to unlabelled pictures");
  page += ".SH SYNOPSIS\n.B tributary\n\\fICOMMAND\\fR [\\fIARGUMENTS\\fR] [\\fIOPTIONS\\fR]\n.SH COMMANDS\n";
  for (const auto& command : commands)
    page += fmt::format(".TP\n.BR tributary\\-{} (1)\n{}\n", roff(command->name()), roff(command->summary()));
  return page +
         ".SH OPTIONS\n.TP\n.B \\-\\-help\nlist the commands, or the common options of a command\n"
         ".TP\n.B \\-\\-help\\-all\nlist every option of a command\n"
         ".TP\n.B \\-\\-version\nversions of the program and of LibTorch\n"
         ".SH EXIT STATUS\n0 on success, 1 on a failure, 2 on bad input, 3 if memory is short, 130 after Ctrl\\-C.\n";
}

bool takes_value(const Option& option) {
  return !std::holds_alternative<bool>(option.initial);
}

// All flags of a command, those of its actions included.
template <typename Use>
void each_option(const Command& command, Use use) {
  for (const Option& option : command.options().options()) use(option);
  for (const FurtherOptions& further : command.further_options())
    for (const Option& option : further.options.options()) use(option);
}

std::string names_of(const Commands& commands) {
  std::string names;
  for (const auto& command : commands) names += (names.empty() ? "" : " ") + command->name();
  return names + " options";
}

// Completes commands, flags, the values of choices, and files.
std::string bash_text(const Commands& commands) {
  std::string flags, values;
  for (const auto& command : commands) {
    flags += fmt::format("    {}) flags=\"--help --help-all", command->name());
    each_option(*command, [&](const Option& option) {
      flags += ' ' + flag_of(option);
      if (!takes_value(option)) flags += " --no-" + flag_of(option).substr(2);
      if (!option.choices.empty())
        values += fmt::format("    '{} {}') choices=\"{}\" ;;\n", command->name(), flag_of(option),
                              fmt::join(option.choices, " "));
    });
    flags += "\" ;;\n";
  }
  return fmt::format(
      R"(# bash completion of tributary, written by tributary options --manual
_tributary() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD-1]}} command=${{COMP_WORDS[1]}} flags= choices=
  COMPREPLY=()
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W "{} --help --version" -- "$word"))
    return
  fi
  case $command in
{}  esac
  case "$command $before" in
{}  esac
  if [ -n "$choices" ]; then
    COMPREPLY=($(compgen -W "$choices" -- "$word"))
  elif [[ $word == -* ]]; then
    COMPREPLY=($(compgen -W "$flags" -- "$word"))
  else
    compopt -o filenames 2>/dev/null
    COMPREPLY=($(compgen -f -- "$word"))
  fi
}}
complete -F _tributary tributary
)",
      names_of(commands), flags, values);
}

std::string quoted(const std::string& text) {
  return "'" + replaced(text, "'", "'\\''") + "'";
}

std::string zsh_text(const Commands& commands) {
  const auto escaped = [](const std::string& text) {
    return replaced(replaced(replaced(replaced(text, "\\", "\\\\"), ":", "\\:"), "[", "\\["), "]", "\\]");
  };
  std::string names, cases;
  for (const auto& command : commands) {
    names += fmt::format("    {}\n", quoted(command->name() + ":" + escaped(command->summary())));
    cases += fmt::format("    {})\n      _arguments \\\n", command->name());
    each_option(*command, [&](const Option& option) {
      const std::string flag = flag_of(option);
      const std::string action =
          option.choices.empty() ? "_files" : fmt::format("({})", fmt::join(option.choices, " "));
      cases += fmt::format("        {} \\\n", quoted(fmt::format("*{}[{}]{}", flag, escaped(option.help),
                                                                 takes_value(option) ? ":value:" + action : "")));
    });
    cases += "        '*:file:_files'\n      ;;\n";
  }
  return fmt::format(R"(#compdef tributary
# zsh completion of tributary, written by tributary options --manual
local -a commands
commands=(
{})
if (( CURRENT == 2 )); then
  _describe command commands
else
  local command=$words[2]
  shift words
  (( CURRENT-- ))
  case $command in
{}  esac
fi
)",
                     names, cases);
}

std::string fish_text(const Commands& commands) {
  const auto escaped = [](const std::string& text) {
    return "'" + replaced(replaced(text, "\\", "\\\\"), "'", "\\'") + "'";
  };
  std::string text = "# fish completion of tributary, written by tributary options --manual\n";
  for (const auto& command : commands) {
    text += fmt::format("complete -c tributary -f -n __fish_use_subcommand -a {} -d {}\n", command->name(),
                        escaped(command->summary()));
    each_option(*command, [&](const Option& option) {
      const std::string values =
          option.choices.empty() ? "" : fmt::format(" -f -a '{}'", fmt::join(option.choices, " "));
      text +=
          fmt::format("complete -c tributary -n '__fish_seen_subcommand_from {}' -l {}{}{} -d {}\n", command->name(),
                      flag_of(option).substr(2), takes_value(option) ? " -r" : "", values, escaped(option.help));
    });
  }
  return text;
}

}  // namespace

void write_manual(const std::string& folder, const Commands& commands) {
  const std::string pages = folder + "/man1";
  make_folder(pages);
  write_file_atomically(pages + "/tributary.1", program_page(commands));
  for (const auto& command : commands)
    write_file_atomically(fmt::format("{}/tributary-{}.1", pages, command->name()), command_page(*command));
  write_file_atomically(folder + "/tributary.bash", bash_text(commands));
  write_file_atomically(folder + "/_tributary", zsh_text(commands));
  write_file_atomically(folder + "/tributary.fish", fish_text(commands));
}

}  // namespace tributary::cli
