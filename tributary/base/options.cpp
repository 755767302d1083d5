#include "tributary/base/options.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <utility>

#include "tributary/base/files.h"
#include "tributary/base/option_values.h"
#include "tributary/base/text.h"
#include "tributary/base/toml.h"

namespace tributary {

namespace {

// "1 to 10", "at least 1", "at most 10", or `what` if both limits are those of the type.
template <typename Number>
std::string range_text(Number min, Number max, std::string_view what) {
  using Limits = std::numeric_limits<Number>;
  const auto text = [](Number value) { return fmt::format("{}", value); };
  const bool below = min > Limits::lowest();
  const bool above = max < Limits::max();
  if (below && above) return fmt::format("{} to {}", text(min), text(max));
  if (below) return "at least " + text(min);
  if (above) return "at most " + text(max);
  return std::string(what);
}

// Paths and names go into config.toml, which is UTF-8.
bool is_plain_text(const std::string& text) {
  return is_utf8(text) && text.find('\0') == std::string::npos;
}

std::string suggestion(std::string_view word, const std::vector<std::string>& candidates) {
  const std::string near = nearest(word, candidates);
  return near.empty() ? "" : fmt::format("; did you mean {}?", near);
}

// `where` is a flag or a place in a file; both end in the value that was refused.
[[noreturn]] void refuse(const Option& option, const std::string& where, std::string_view value) {
  input_error("{} {}: not allowed; choose {}{}", where, printable(value), option.allowed,
              suggestion(value, option.choices));
}

template <typename Number>
std::optional<OptionValue> parsed(const std::string& text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<OptionValue> value_of_flag(const Option& option) {
  const std::string& last = option.flag_texts.back();
  if (std::holds_alternative<int64_t>(option.initial)) return parsed<int64_t>(last);
  if (std::holds_alternative<double>(option.initial)) return parsed<double>(last);
  if (std::holds_alternative<std::string>(option.initial)) return last;
  if (std::holds_alternative<std::vector<std::string>>(option.initial)) return option.flag_texts;
  if (last != "true" && last != "false") return std::nullopt;
  return last == "true";
}

OptionValue checked_flag(const Option& option) {
  const std::optional<OptionValue> value = value_of_flag(option);
  if (!value || !option.accepts(*value))
    refuse(option, flag_of(option), fmt::format("{}", fmt::join(option.flag_texts, " ")));
  return *value;
}

// An item of texts: a string, or a table whose key "file" comes first: "FILE:key=value,key=value".
std::optional<std::string> text_of_item(const toml::node& item) {
  if (const auto* text = item.as_string()) return text->get();
  const toml::table* const table = item.as_table();
  if (table == nullptr || !(*table)["file"].is_string()) return std::nullopt;
  std::string text = table->at("file").as_string()->get();
  char before = ':';
  for (const auto& [key, value] : *table) {
    if (key.str() == "file") continue;
    if (value.is_table() || value.is_array()) return std::nullopt;
    const auto* plain = value.as_string();
    text += fmt::format("{}{}={}", std::exchange(before, ','), key.str(), plain ? plain->get() : text_of_node(value));
  }
  return text;
}

// The value of a TOML node if it has the option's type; a whole number is a number as well.
std::optional<OptionValue> value_of_node(const Option& option, const toml::node& node) {
  if (std::holds_alternative<bool>(option.initial) && node.is_boolean()) return node.as_boolean()->get();
  if (std::holds_alternative<int64_t>(option.initial) && node.is_integer()) return node.as_integer()->get();
  if (std::holds_alternative<double>(option.initial) && node.is_number()) return *node.value<double>();
  if (std::holds_alternative<std::string>(option.initial) && node.is_string()) return node.as_string()->get();
  if (!std::holds_alternative<std::vector<std::string>>(option.initial) || !node.is_array()) return std::nullopt;
  std::vector<std::string> texts;
  for (const toml::node& item : *node.as_array()) {
    const std::optional<std::string> text = text_of_item(item);
    if (!text) return std::nullopt;
    texts.push_back(*text);
  }
  return texts;
}

// Replaces old names of values.
std::optional<OptionValue> with_new_names(const Option& option, std::optional<OptionValue> value) {
  const auto rename = [&](std::string& text) {
    if (const auto found = option.old_values.find(text); found != option.old_values.end()) text = found->second;
  };
  if (!value) return value;
  if (auto* text = std::get_if<std::string>(&*value)) rename(*text);
  if (auto* texts = std::get_if<std::vector<std::string>>(&*value))
    for (std::string& text : *texts) rename(text);
  return value;
}

}  // namespace

bool Option::is_called(std::string_view name) const {
  return key == name || std::find(aliases.begin(), aliases.end(), name) != aliases.end();
}

Option& OptionTable::declare(Option option) {
  for (const Option& other : options_)
    TRIBUTARY_CHECK(!other.is_called(option.key), "{} is declared twice", option.key);
  TRIBUTARY_CHECK(option.key.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") == std::string::npos,
                  "{} is no key", option.key);
  TRIBUTARY_CHECK(option.section.find('.') == std::string::npos, "{} is no section", option.section);
  option.initial = option.read();
  TRIBUTARY_CHECK(option.accepts(option.initial), "the default of {} is not allowed", option.key);
  option.condition_key = condition_key_;
  option.condition_value = condition_value_;
  return options_.emplace_back(std::move(option));
}

void OptionTable::only_with(const std::string& key, const std::string& value, const std::function<void()>& declare) {
  condition_key_ = key;
  condition_value_ = value;
  declare();
  condition_key_.clear();
  condition_value_.clear();
}

Option& OptionTable::integer(std::string section, std::string key, int64_t* field, int64_t min, int64_t max,
                             std::string help) {
  return declare({std::move(section), std::move(key), std::move(help), range_text(min, max, "a whole number"),
                  int64_t{}, [field] { return OptionValue(*field); },
                  [field](const OptionValue& value) { *field = std::get<int64_t>(value); },
                  [min, max](const OptionValue& value) {
                    const auto number = std::get<int64_t>(value);
                    return number >= min && number <= max;
                  }});
}

Option& OptionTable::number(std::string section, std::string key, double* field, double min, double max,
                            std::string help) {
  return declare({std::move(section), std::move(key), std::move(help), range_text(min, max, "a number"), double{},
                  [field] { return OptionValue(*field); },
                  [field](const OptionValue& value) { *field = std::get<double>(value); },
                  [min, max](const OptionValue& value) {
                    const double number = std::get<double>(value);
                    return std::isfinite(number) && number >= min && number <= max;
                  }});
}

Option& OptionTable::flag(std::string section, std::string key, bool* field, std::string help) {
  return declare({std::move(section), std::move(key), std::move(help), "true or false", bool{},
                  [field] { return OptionValue(*field); },
                  [field](const OptionValue& value) { *field = std::get<bool>(value); },
                  [](const OptionValue&) { return true; }});
}

Option& OptionTable::text(std::string section, std::string key, std::string* field, std::string help) {
  return declare({std::move(section), std::move(key), std::move(help), "a text in UTF-8", std::string{},
                  [field] { return OptionValue(*field); },
                  [field](const OptionValue& value) { *field = std::get<std::string>(value); },
                  [](const OptionValue& value) { return is_plain_text(std::get<std::string>(value)); }});
}

Option& OptionTable::texts(std::string section, std::string key, std::vector<std::string>* field, std::string help) {
  using Texts = std::vector<std::string>;
  return declare({std::move(section), std::move(key), std::move(help), "texts in UTF-8", Texts{},
                  [field] { return OptionValue(*field); },
                  [field](const OptionValue& value) { *field = std::get<Texts>(value); },
                  [](const OptionValue& value) {
                    const auto& items = std::get<Texts>(value);
                    return std::all_of(items.begin(), items.end(), is_plain_text);
                  }});
}

Option& OptionTable::declare_choice(std::string section, std::string key, std::vector<std::string> names,
                                    std::function<size_t()> read, std::function<void(size_t)> write, std::string help) {
  const auto index_of = [names](const OptionValue& value) {
    return static_cast<size_t>(std::find(names.begin(), names.end(), std::get<std::string>(value)) - names.begin());
  };
  return declare({std::move(section), std::move(key), std::move(help), fmt::format("{}", fmt::join(names, ", ")),
                  std::string{}, [names, read] { return OptionValue(names[read()]); },
                  [write, index_of](const OptionValue& value) { write(index_of(value)); },
                  [index_of, count = names.size()](const OptionValue& value) { return index_of(value) < count; },
                  names});
}

void OptionTable::read_toml(const std::string& path) {
  read_toml_text(read_text(path), path);
}

void OptionTable::read_toml_text(std::string_view text, const std::string& name) {
  const toml::table root = parse_toml(text, name);
  toml_name_ = name;
  for (Option& option : options_) option.toml_value.reset();

  const auto read_key = [&](const std::string& section, const std::string& key, const toml::node& node) {
    const auto place = fmt::format("{}:{}: {}", name, node.source().begin.line, printable(path_of(section, key)));
    std::vector<std::string> known;
    for (Option& option : options_) {
      known.push_back(path_of(option.section, option.key));
      if (!option.is_called(key)) continue;
      if (option.section != section) input_error("{} is not an option; did you mean {}?", place, known.back());
      if (option.is_flag_only)
        input_error("{} cannot be set in a file; remove it, and give the flag {} if you mean it", place,
                    flag_of(option));
      if (option.toml_value) input_error("{} and its old name are both given; keep {}", place, known.back());
      const std::optional<OptionValue> value = with_new_names(option, value_of_node(option, node));
      if (!value || !option.accepts(*value)) refuse(option, place + " =", text_of_node(node));
      option.toml_value = value;
      return;
    }
    const std::string near = suggestion(path_of(section, key), known);
    input_error("{} is not an option{}", place,
                near.empty() ? "; remove it, or see --help-all for the options there are" : near);
  };

  const std::vector<std::string> known_sections = sections();
  for (const auto& [key, node] : root) {
    const std::string top(key.str());
    const bool is_section = std::find(known_sections.begin(), known_sections.end(), top) != known_sections.end();
    const auto line = node.source().begin.line;
    if (is_section && !node.is_table()) input_error("{}:{}: {} must be a table; write [{}]", name, line, top, top);
    if (!node.is_table()) {
      read_key("", top, node);
    } else if (!is_section) {
      const std::string near = suggestion(top, known_sections);
      input_error("{}:{}: [{}] is not a section{}", name, line, printable(top),
                  near.empty() ? fmt::format("; there are {}", fmt::join(known_sections, ", ")) : near);
    } else {
      for (const auto& [inner, value] : *node.as_table()) read_key(top, std::string(inner.str()), value);
    }
  }
}

void OptionTable::set_flag(const std::string& where, std::string name, std::string text) {
  std::replace(name.begin(), name.end(), '-', '_');
  std::vector<std::string> known;
  for (Option& option : options_) {
    known.push_back(option.key);
    if (!option.is_called(name)) continue;
    option.flag_texts.push_back(std::move(text));
    return;
  }
  const std::string near = suggestion(name, known);
  input_error("{}: there is no option '{}' here{}", where, printable(name),
              near.empty() ? fmt::format("; choose among {}", fmt::join(known, ", ")) : near);
}

void OptionTable::apply_toml() {
  for (Option& option : options_)
    if (option.toml_value) option.write(*option.toml_value);
}

void OptionTable::apply_flags() {
  for (Option& option : options_)
    if (!option.flag_texts.empty()) option.write(checked_flag(option));
}

const Option& OptionTable::find(std::string_view key) const {
  for (const Option& option : options_)
    if (option.key == key) return option;
  TRIBUTARY_CHECK(false, "{} is not declared", key);
  return options_.front();
}

std::optional<std::string> OptionTable::given(std::string_view key) const {
  const Option& option = find(key);
  if (!option.flag_texts.empty()) return plain_of(checked_flag(option));
  return option.toml_value ? std::optional(plain_of(*option.toml_value)) : std::nullopt;
}

std::vector<GivenOption> OptionTable::given_options() const {
  std::vector<GivenOption> all;
  for (const Option& option : options_) {
    if (!option.flag_texts.empty())
      all.push_back({option.key,
                     option.flag_texts.back() == "false" ? "--no-" + flag_of(option).substr(2) : flag_of(option),
                     option.condition_value});
    else if (option.toml_value && *option.toml_value != option.read())
      all.push_back({option.key, fmt::format("{} in {}", path_of(option.section, option.key), toml_name_),
                     option.condition_value});
  }
  return all;
}

std::string OptionTable::condition_of(std::string_view key) const {
  for (const Option& option : options_)
    if (option.is_called(key)) return option.condition_value;
  return {};
}

void OptionTable::require_settable(const std::string& name, const std::string& value, const std::string& where) const {
  std::vector<std::string> known;
  for (const Option& option : options_) {
    known.push_back(option.key);
    if (!option.is_called(name)) continue;
    if (option.is_flag_only) input_error("{}: {} is a flag of its own and cannot be set here", where, name);
    Option given = option;
    given.flag_texts = {value};
    checked_flag(given);
    return;
  }
  input_error("{}: there is no option {}{}", where, printable(name), suggestion(name, known));
}

std::vector<std::string> OptionTable::sections() const {
  std::vector<std::string> names;
  for (const Option& option : options_)
    if (!option.section.empty() && std::find(names.begin(), names.end(), option.section) == names.end())
      names.push_back(option.section);
  return names;
}

}  // namespace tributary
