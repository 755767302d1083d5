// Options that cannot drift apart: one declaration gives the TOML key, the command-line flag, the help text, the docs
// page and the run folder's config.toml.
//
// Every part of the program keeps its options in a plain struct with its defaults and declares the fields here once:
//
//   OptionTable table;
//   table.integer("adapt", "inner_epochs", &options.inner_epochs, 1, 1000, "passes over the target set in a round");
//
// makes `--inner-epochs 15` and `inner_epochs = 15` under `[adapt]`. Flags and TOML are first only read; the caller
// says when they are written to the fields, so that a preset named by one of them (see `given`) can go first:
//
//   table.add_to(app);  app.parse(…);  table.read_toml(path);
//   apply_preset(table.given("benchmark"));  table.apply_toml();  table.apply_flags();
//
// Mistakes of the user are InputErrors that name the file and line (or the flag), the value and what is allowed.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <initializer_list>
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

// One declared option. Code outside of the table only meets it as what a declaration returns:
// `table.flag(…).transient()`.
struct Option {
  // Not part of what a run is (`--json`, the run folder's own name): left out of `to_toml`.
  Option& transient() {
    is_transient = true;
    return *this;
  }

  std::string section;  // empty for keys at the top of the file
  std::string key;
  std::string help;
  std::string allowed;  // in words, for messages and the docs page
  OptionValue initial;  // the field's value when it was declared; its type is the option's
  std::function<OptionValue()> read;
  std::function<void(const OptionValue&)> write;
  std::function<bool(const OptionValue&)> accepts;
  std::vector<std::string> choices = {};
  bool is_transient = false;

  std::vector<std::string> flag_texts = {};  // as typed; empty where the flag was not given
  std::optional<OptionValue> toml_value = std::nullopt;
};

class OptionTable {
 public:
  OptionTable() = default;
  OptionTable(const OptionTable&) = delete;  // the command line's parser points into it
  OptionTable& operator=(const OptionTable&) = delete;

  // Keys are written with underscores and are unique in the table, because the section is no part of the flag. The
  // limits belong to what is allowed; a field's default must lie within them.
  Option& integer(std::string section, std::string key, int64_t* field, int64_t min, int64_t max, std::string help);
  Option& number(std::string section, std::string key, double* field, double min, double max, std::string help);
  Option& flag(std::string section, std::string key, bool* field, std::string help);  // --key and --no-key
  Option& text(std::string section, std::string key, std::string* field, std::string help);
  Option& texts(std::string section, std::string key, std::vector<std::string>* field, std::string help);  // repeatable
  template <typename Enum>
  Option& choice(std::string section, std::string key, Enum* field,
                 std::initializer_list<std::pair<std::string_view, Enum>> names, std::string help);

  // Registers the flags, grouped by section. The table must outlive the parse.
  void add_to(CLI::App& app);

  // Reads and checks a TOML file and remembers its values; those of a file read before are forgotten. `name` stands for
  // the file in messages.
  void read_toml(const std::string& path);
  void read_toml_text(std::string_view text, const std::string& name);

  void apply_toml();   // writes what the TOML said
  void apply_flags();  // checks and writes what the flags said; call it last and they win

  // What the flags, or else the TOML, say for a key; nothing where neither does. Several texts are joined by ", ".
  std::optional<std::string> given(std::string_view key) const;

  // Every option that is not transient with its present value, grouped by section in the order of declaration. Numbers
  // have all the digits needed to read the same value again.
  std::string to_toml() const;

  // Flag, TOML key, default, allowed values and meaning of every option as a table.
  std::string to_markdown() const;

 private:
  Option& declare(Option option);
  Option& declare_choice(std::string section, std::string key, std::vector<std::string> names,
                         std::function<size_t()> read, std::function<void(size_t)> write, std::string help);
  std::vector<std::string> sections() const;

  std::deque<Option> options_;  // a deque: the parser's callbacks keep addresses
};

// A text as a string of a TOML file, in its quotes.
std::string toml_text(std::string_view text);

// What two configurations disagree about, one line a key: "adapt.rounds: 10 there, 20 here". `there` is the TOML text
// of a run folder, `here` the new one.
std::vector<std::string> differences(const std::string& there, const std::string& here);

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
