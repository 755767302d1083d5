#include "cli/table_check.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "cli/command.h"
#include "tributary/artefacts/run_folder.h"
#include "tributary/base/error.h"
#include "tributary/base/message.h"
#include "tributary/base/option_values.h"
#include "tributary/base/text.h"
#include "tributary/run/adaptation_setup.h"

namespace tributary::cli {
namespace {

using Arguments = std::vector<std::string>;

// The key of the option that a word of the command line sets; empty if it is none.
std::string key_of(const OptionTable& table, const std::string& word) {
  if (!word.starts_with("--")) return {};
  std::string name = word.substr(2);
  std::replace(name.begin(), name.end(), '-', '_');
  for (const Option& option : table.options())
    if (option.is_called(name) || (name.starts_with("no_") && option.is_called(name.substr(3)))) return option.key;
  return {};
}

// `arguments` without the row's own flags.
Arguments without(const Arguments& arguments, const Arguments& flags) {
  const auto found = std::search(arguments.begin(), arguments.end(), flags.begin(), flags.end());
  Arguments others(arguments.begin(), found);
  if (found != arguments.end()) others.insert(others.end(), found + std::ssize(flags), arguments.end());
  return others;
}

void require_each_once(const OptionTable& table, const TableRow& row, const Arguments& arguments) {
  std::set<std::string> given = {"json"};
  for (const std::string& word : without(arguments, row.flags)) given.insert(key_of(table, word));
  std::set<std::string> own;
  for (const std::string& word : row.flags) {
    const std::string key = key_of(table, word);
    if (key.empty()) continue;
    if (given.contains(key))
      input_error("bench itself gives {} to every adaptation; remove {} from --set or --sweep{}", flag_of_key(key), key,
                  key == "seed" ? ", and see --seeds" : "");
    if (!own.insert(key).second)
      input_error("the row {} would get {} twice; remove {} from --set, or the row from --methods", row.key,
                  flag_of_key(key), key);
  }
}

// Gives `adaptation` the arguments of a row, as the program will.
void parse(AdaptationSetup& adaptation, const TableRow& row, Arguments words) {
  CLI::App app;
  adaptation.table.add_to(app);
  words.erase(words.begin());  // "adapt"
  std::reverse(words.begin(), words.end());
  try {
    app.parse(words);
    adaptation.resolve();
  } catch (const CLI::ParseError& error) {
    input_error("the row {} cannot be adapted: {}", row.key, first_line(error.what()));
  } catch (const InputError& error) {
    input_error("the row {} cannot be adapted: {}", row.key, error.what());
  }
}

}  // namespace

Arguments flags_of_option(std::string key, const std::string& value, const std::string& where) {
  std::replace(key.begin(), key.end(), '-', '_');
  AdaptationSetup().table.require_settable(key, value, where);
  const std::string name = flag_of_key(key).substr(2);
  if (value == "true" || value == "false") return {(value == "true" ? "--" : "--no-") + name};
  return {"--" + name, value};
}

void require_valid_adaptations(const TableTask& task) {
  for (const TableRow& row : task.rows)
    for (const std::string& target : task.targets) {
      AdaptationSetup adaptation;
      const Arguments words = adaptation_arguments(task, row, target, 0);
      require_each_once(adaptation.table, row, words);
      parse(adaptation, row, words);
    }
}

void require_same_adaptations(const TableTask& task) {
  if (task.restart) return;
  for (const TableRow& row : task.rows)
    for (const std::string& target : task.targets)
      for (int64_t seed = 0; seed < seeds_of(task, row); ++seed) {
        AdaptationSetup adaptation;
        parse(adaptation, row, adaptation_arguments(task, row, target, seed));
        std::vector<std::string> lines = run_differences(adaptation.options.folder, adaptation.table.configuration());
        for (std::string& line : lines)  // their names in the store say little
          if (line.starts_with("source: ")) line = "its sources were trained with other options or pictures";
        if (!lines.empty())
          input_error("{} was adapted otherwise ({}); name another folder with --out, or repeat it with --restart",
                      adaptation.options.folder, fmt::join(lines, "; "));
      }
}

}  // namespace tributary::cli
