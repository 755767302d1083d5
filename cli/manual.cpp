#include "cli/manual.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/completion.h"
#include "tributary/base/files.h"
#include "tributary/base/option_values.h"
#include "tributary/version.h"

namespace tributary::cli {
namespace {

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

std::string option_items(const Place& place) {
  std::string items;
  for (const Option* option : place.options)
    items += fmt::format(".TP\n.B {}\n{}\n", roff(flags_text(*option)), roff(description_of(*option)));
  items += ".TP\n.B \\-\\-help\nprint the help\n";
  if (place.has_help_all) items += ".TP\n.B \\-\\-help\\-all\nprint the help with every option\n";
  return items;
}

// "tributary predict FILE ... [OPTIONS]"
std::string synopsis(const Place& place) {
  std::string line = fmt::format(".B tributary {}\n", roff(place.path));
  for (const Argument& argument : place.arguments) {
    const std::string name = fmt::format("\\fI{}\\fR", roff(argument.name));
    line += argument.is_required ? name : "[" + name + "]";
    line += argument.is_repeated ? " ...\\&\n" : "\n";  // \& lest a sentence end there
  }
  return line + "[\\fIOPTIONS\\fR]\n";
}

// The page of a command with the actions below it, `places`.
std::string command_page(const std::vector<Place>& places) {
  const Place& command = places.front();
  const bool has_actions = places.size() > 1;
  std::string page = heading("tributary-" + command.path, command.summary) + ".SH SYNOPSIS\n";
  std::string parts, examples;
  for (const Place& place : places) {
    if (!place.example.empty()) examples += roff(place.example) + "\n";
    if (!place.actions.empty()) continue;
    page += (parts.empty() ? "" : ".br\n") + synopsis(place);
    const std::string of = has_actions ? " OF " + roff(place.path) : "";
    if (has_actions) parts += fmt::format(".SH {}\n{}\n", roff(place.path), roff(place.summary));
    if (!place.arguments.empty()) parts += fmt::format(".SH ARGUMENTS{}\n", of);
    for (const Argument& argument : place.arguments)
      parts += fmt::format(".TP\n.I {}\n{}\n", roff(argument.name), roff(argument.description));
    parts += fmt::format(".SH OPTIONS{}\n{}", of, option_items(place));
  }
  return page + parts + fmt::format(".SH EXAMPLES\n.nf\n{}.fi\n.SH SEE ALSO\n.BR tributary (1)\n", examples);
}

std::string program_page(const Place& program) {
  std::string page = heading("tributary", "adapt several image classifiers together to unlabelled pictures");
  page += ".SH SYNOPSIS\n.B tributary\n\\fICOMMAND\\fR [\\fIARGUMENTS\\fR] [\\fIOPTIONS\\fR]\n.SH COMMANDS\n";
  for (const auto& [name, summary] : program.actions)
    page += fmt::format(".TP\n.BR tributary\\-{} (1)\n{}\n", roff(name), roff(summary));
  return page +
         ".SH OPTIONS\n.TP\n.B \\-\\-help\nlist the commands, or the common options of a command\n"
         ".TP\n.B \\-\\-help\\-all\nlist every option of a command\n"
         ".TP\n.B \\-\\-version\nversions of the program and of LibTorch\n"
         ".SH EXIT STATUS\n0 on success, 1 on a failure, 2 on bad input, 3 if memory is short, 130 after Ctrl\\-C.\n";
}

}  // namespace

void write_manual(const std::string& folder, const std::vector<Place>& places) {
  const std::string pages = folder + "/man1";
  make_folder(pages);
  write_file_atomically(pages + "/tributary.1", program_page(places.front()));
  for (const auto& [name, summary] : places.front().actions) {
    std::vector<Place> own;
    for (const Place& place : places)
      if (place.path == name || place.path.starts_with(name + " ")) own.push_back(place);
    write_file_atomically(fmt::format("{}/tributary-{}.1", pages, name), command_page(own));
  }
  write_file_atomically(folder + "/tributary.bash", bash_completion(places));
  write_file_atomically(folder + "/_tributary", zsh_completion(places));
  write_file_atomically(folder + "/tributary.fish", fish_completion(places));
}

}  // namespace tributary::cli
