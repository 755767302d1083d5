// Declares each option once. The declaration gives the TOML key, the command-line flag, the help text, the reference
// page and the line in the run folder's config.toml.
//
// Every part of the program keeps its options in a plain struct with default values and declares the fields here:
//
//   OptionTable table;
//   table.integer("adapt", "inner_epochs", &options.inner_epochs, 1, 1000, "passes over the target set per round");
//
// This makes the flag `--inner-epochs 15` and the key `inner_epochs = 15` under `[adapt]`. Parsing only remembers the
// values. The caller decides when they are written to the fields, so that a preset can be applied first:
//
//   table.add_to(app);  app.parse(...);  table.read_toml(path);
//   apply_preset(table.given("benchmark"));  table.apply_toml();  table.apply_flags();
//
// Mistakes of the user are InputErrors that name the file and line (or the flag), the value and what is allowed.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "tributary/base/error.h"

namespace CLI {
class App;
}

namespace tributary {

using OptionValue = std::variant<bool, int64_t, double, std::string, std::vector<std::string>>;

// One declared option. Other code only sees it as the result of a declaration: `table.flag(...).transient()`.
struct Option {
  // Does not define the run (`--json`, the run folder's own name): `to_toml` leaves it out.
  Option& transient() {
    is_transient = true;
    return *this;
  }
  // Cannot be given in a TOML file, which may come from somebody else: it grants a right or deletes results.
  Option& flag_only() {
    is_flag_only = true;
    return *this;
  }
  // An old name of the option. It still works as a flag and as a TOML key; help and reference do not show it.
  Option& alias(std::string old_key) {
    aliases.push_back(std::move(old_key));
    return *this;
  }
  // An old name of a value. TOML files may still hold it and then mean the new one; flags may not.
  Option& renamed_value(std::string old_value, std::string value) {
    old_values[std::move(old_value)] = std::move(value);
    return *this;
  }
  // Names the value in the help: FILE, FOLDER, NAME.
  Option& metavar(std::string name) {
    value_name = std::move(name);
    return *this;
  }
  // Further description for the full help: what is too long for the short one and for the reference page.
  Option& in_full_help(std::string text) {
    further_help = std::move(text);
    return *this;
  }
  bool is_called(std::string_view name) const;  // by its key or an old name

  std::string section;  // empty for top-level keys
  std::string key;
  std::string help;
  std::string allowed;  // in words, for messages and the reference page
  OptionValue initial;  // the field's value at its declaration; its type is the option's type
  std::function<OptionValue()> read;
  std::function<void(const OptionValue&)> write;
  std::function<bool(const OptionValue&)> accepts;
  std::vector<std::string> choices = {};
  bool is_transient = false;
  bool is_flag_only = false;
  std::vector<std::string> aliases = {};
  std::map<std::string, std::string> old_values = {};  // old to new
  std::string value_name = {}, further_help = {};
  std::string condition_key = {}, condition_value = {};  // see OptionTable::only_with

  std::vector<std::string> flag_texts = {};  // as typed; empty if the flag was not given
  std::optional<OptionValue> toml_value = std::nullopt;
};

// The options of a run as TOML, with the old names of its keys ("adapt.reading" to "adapt.variant") and values, and
// their defaults, so that it compares equal to a configuration that was written before a key was renamed or added.
struct Configuration {
  using Renamed = std::map<std::string, std::string>;  // old to new

  Configuration(std::string toml, Renamed old_names = {}, std::string default_toml = "",
                std::map<std::string, Renamed> old_values = {})
      : text(std::move(toml)),
        renamed(std::move(old_names)),
        defaults(std::move(default_toml)),
        renamed_values(std::move(old_values)) {}
  Configuration(const char* toml) : text(toml) {}

  std::string text;
  Renamed renamed;
  std::string defaults;                           // TOML
  std::map<std::string, Renamed> renamed_values;  // by the new name of the key
};

// An option that a flag or the TOML file gave.
struct GivenOption {
  std::string key;
  std::string where;            // "--aad-alpha", or "adapt.aad_alpha in config.toml"
  std::string condition_value;  // see OptionTable::only_with; empty for options without a condition
};

enum class HelpDetail { kShort, kAll };

class OptionTable {
 public:
  OptionTable() = default;
  OptionTable(const OptionTable&) = delete;  // the command line's parser points into it
  OptionTable& operator=(const OptionTable&) = delete;

  // Keys are written with underscores. They are unique in the table, because a flag does not name its section. A
  // field's default must lie within the limits.
  Option& integer(std::string section, std::string key, int64_t* field, int64_t min, int64_t max, std::string help);
  Option& number(std::string section, std::string key, double* field, double min, double max, std::string help);
  Option& flag(std::string section, std::string key, bool* field, std::string help);  // --key and --no-key
  Option& text(std::string section, std::string key, std::string* field, std::string help);
  // Repeatable. In TOML an item may be a table: {file = "a.pth", size = 64} is the text "a.pth:size=64".
  Option& texts(std::string section, std::string key, std::vector<std::string>* field, std::string help);
  template <typename Enum>
  Option& choice(std::string section, std::string key, Enum* field,
                 std::initializer_list<std::pair<std::string_view, Enum>> names, std::string help);

  // Options declared by `declare` only matter if option `key` has the value `value`, as those of one method. The short
  // help shows them if the command line gives that value.
  void only_with(const std::string& key, const std::string& value, const std::function<void()>& declare);

  // Shows the options with these keys in the short help, under a heading. Groups appear in the order of the calls. If a
  // table has groups, all other options appear in the full help only (`--help-all`).
  void help_group(std::string title, std::vector<std::string> keys);
  std::string help(HelpDetail detail) const;

  // Registers the flags and the help. The table must outlive the parse.
  void add_to(CLI::App& app);

  // Reads and checks a TOML file and remembers its values. They replace those of a file read before. `name` stands for
  // the file in messages.
  void read_toml(const std::string& path);
  void read_toml_text(std::string_view text, const std::string& name);

  // Gives the option called `name` the value `text`, as a flag on the command line would. `where` starts the message if
  // there is no such option.
  void set_flag(const std::string& where, std::string name, std::string text);

  void apply_toml();   // writes the values of the TOML file to the fields
  void apply_flags();  // checks the flags and writes them to the fields; call it last, so that flags win

  // The value that a flag, or else the TOML file, gives for a key; nothing if neither does. Several texts are joined by
  // ", ".
  std::optional<std::string> given(std::string_view key) const;

  // All options that flags give, and those of the TOML file whose values differ from the fields' values now.
  std::vector<GivenOption> given_options() const;
  // The value that the option `key` was declared to belong to (only_with); empty if there is no such option or
  // condition.
  std::string condition_of(std::string_view key) const;
  // Throws an InputError, which starts with `where`, unless the option `name` exists and accepts the value. Options
  // that are flags only are refused.
  void require_settable(const std::string& name, const std::string& value, const std::string& where) const;

  // Every option that is not transient with its current value, grouped by section in the order of declaration. Numbers
  // have all the digits needed to read the same value again.
  std::string to_toml() const;
  Configuration configuration() const;  // the same, with the old names of the keys and their defaults

  // All declared options, in the order of their declaration.
  const std::deque<Option>& options() const { return options_; }

  // Flag, TOML key, default, allowed values and meaning of every option as a table.
  std::string to_markdown() const;

 private:
  Option& declare(Option option);
  Option& declare_choice(std::string section, std::string key, std::vector<std::string> names,
                         std::function<size_t()> read, std::function<void(size_t)> write, std::string help);
  std::vector<std::string> sections() const;
  // Keys with the values that `value_of` gives, as TOML.
  std::string to_toml(const std::function<OptionValue(const Option&)>& value_of) const;
  const Option& find(std::string_view key) const;
  bool is_hidden(const Option& option) const;

  struct HelpGroup {
    std::string title;
    std::vector<std::string> keys;
  };

  std::deque<Option> options_;  // a deque: the parser's callbacks keep addresses
  std::vector<HelpGroup> help_groups_;
  std::string toml_name_;
  std::string condition_key_, condition_value_;  // of the options that are being declared
};

// A text as a TOML string, with its quotes.
std::string toml_text(std::string_view text);

// The differences of two configurations, one line per key: "adapt.rounds: 10 there, 20 here". `there` is the TOML text
// of an existing run folder. A key that is absent there has its default.
std::vector<std::string> differences(const std::string& there, const Configuration& here);

template <typename Enum>
Option& OptionTable::choice(std::string section, std::string key, Enum* field,
                            std::initializer_list<std::pair<std::string_view, Enum>> names, std::string help) {
  std::vector<std::string> texts;
  std::vector<Enum> values;
  for (const auto& [text, value] : names) {
    texts.emplace_back(text);
    values.push_back(value);
  }
  const auto read = [field, values]() -> size_t {
    for (size_t i = 0; i < values.size(); ++i)
      if (values[i] == *field) return i;
    TRIBUTARY_CHECK(false, "the field holds a value that has no name");
    return 0;
  };
  const auto write = [field, values](size_t index) { *field = values[index]; };
  return declare_choice(std::move(section), std::move(key), std::move(texts), read, write, std::move(help));
}

}  // namespace tributary
