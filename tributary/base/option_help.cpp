// The help of a command and the reference page, written from the declarations of its options.
#include <CLI/CLI.hpp>
#include <algorithm>

#include "tributary/base/option_values.h"
#include "tributary/base/text.h"

namespace tributary {
namespace {

constexpr size_t kColumn = 32;   // where descriptions begin
constexpr size_t kWidth = 110;   // columns of a line
constexpr size_t kChoices = 28;  // columns of a list of choices that still stands beside its flag

bool is_switch(const Option& option) {
  return std::holds_alternative<bool>(option.initial);
}

bool is_repeatable(const Option& option) {
  return std::holds_alternative<std::vector<std::string>>(option.initial);
}

bool lists_choices(const Option& option) {
  return !option.choices.empty() && fmt::format("{}", fmt::join(option.choices, "|")).size() <= kChoices;
}

std::string metavar_of(const Option& option) {
  if (!option.value_name.empty()) return option.value_name;
  if (std::holds_alternative<int64_t>(option.initial)) return "COUNT";
  if (std::holds_alternative<double>(option.initial)) return "NUMBER";
  return lists_choices(option) ? fmt::format("{}", fmt::join(option.choices, "|")) : "NAME";
}

std::string description(const Option& option, HelpDetail detail) {
  const std::string before = plain_of(option.initial),
                    help = option.help + (detail == HelpDetail::kAll ? option.further_help : "");
  if (is_switch(option)) return help + (std::get<bool>(option.initial) ? " (on by default)" : "");
  const bool is_text = std::holds_alternative<std::string>(option.initial);
  const bool says_allowed = (detail == HelpDetail::kAll || !option.choices.empty()) && !lists_choices(option) &&
                            !(is_text && option.choices.empty()) && !is_repeatable(option);
  if (before.empty()) return help;
  if (!says_allowed) return fmt::format("{} (default {})", help, before);
  return fmt::format("{} (default {}; {})", help, before, option.allowed);
}

// Two columns: the flags, and the description wrapped beside them.
std::string two_columns(const std::string& left, const std::string& right) {
  std::string out = "  " + left;
  size_t column = out.size();
  if (column + 2 > kColumn) {
    out += '\n';
    column = 0;
  }
  out.append(kColumn - column, ' ');
  column = kColumn;
  for (size_t at = 0; at < right.size();) {
    const size_t end = std::min(right.find(' ', at), right.size());
    const std::string word = right.substr(at, end - at);
    if (column > kColumn && column + 1 + word.size() > kWidth) {
      out += '\n' + std::string(kColumn, ' ');
      column = kColumn;
    }
    if (column > kColumn) {
      out += ' ';
      ++column;
    }
    out += word;
    column += word.size();
    at = end + 1;
  }
  return out + '\n';
}

class HelpFormatter : public CLI::Formatter {
 public:
  explicit HelpFormatter(const OptionTable& table) : table_(table) { column_width(kColumn); }

  std::string make_help(const CLI::App* app, std::string name, CLI::AppFormatMode mode) const override {
    const HelpDetail detail = mode == CLI::AppFormatMode::All ? HelpDetail::kAll : HelpDetail::kShort;
    return make_description(app) + make_usage(app, std::move(name)) + make_positionals(app) + table_.help(detail) +
           '\n' + make_footer(app);
  }

 private:
  const OptionTable& table_;
};

}  // namespace

std::string flags_text(const Option& option) {
  const std::string name = flag_of(option);
  if (is_switch(option)) return std::get<bool>(option.initial) ? name + ", --no-" + name.substr(2) : name;
  return name + " " + metavar_of(option) + (is_repeatable(option) ? " ..." : "");
}

std::string description_of(const Option& option) {
  return description(option, HelpDetail::kAll);
}

void OptionTable::help_group(std::string title, std::vector<std::string> keys) {
  for (const std::string& key : keys) find(key);
  help_groups_.push_back({std::move(title), std::move(keys)});
}

// Whether the command line chose another value than the one the option belongs to.
bool OptionTable::is_hidden(const Option& option) const {
  if (option.condition_key.empty()) return false;
  const Option& condition = find(option.condition_key);
  return !condition.flag_texts.empty() && condition.flag_texts.back() != option.condition_value;
}

std::string OptionTable::help(HelpDetail detail) const {
  const bool is_short = detail == HelpDetail::kShort && !help_groups_.empty();
  std::vector<const Option*> left;
  for (const Option& option : options_) left.push_back(&option);
  std::string out;
  const auto add = [&](const std::string& title, const std::vector<const Option*>& options) {
    if (options.empty()) return;
    out += fmt::format("\n{}:\n", title);
    for (const Option* option : options)
      out += two_columns(flags_text(*option), description(*option, is_short ? HelpDetail::kShort : HelpDetail::kAll));
  };
  // Moves the options that `belongs` accepts out of those that are left.
  const auto take = [&](const auto& belongs) {
    std::vector<const Option*> taken;
    std::copy_if(left.begin(), left.end(), std::back_inserter(taken), [&](const Option* o) { return belongs(*o); });
    std::erase_if(left, [&](const Option* o) { return belongs(*o); });
    return taken;
  };

  for (const HelpGroup& group : help_groups_) {
    std::vector<const Option*> options;
    for (const std::string& key : group.keys)
      for (const Option* option : take([&](const Option& o) { return o.key == key; }))
        if (!is_hidden(*option)) options.push_back(option);
    add(group.title, options);
  }
  std::vector<std::pair<std::string, std::string>> conditions;
  for (const Option& option : options_)
    if (const std::pair condition(option.condition_key, option.condition_value);
        !condition.first.empty() && std::find(conditions.begin(), conditions.end(), condition) == conditions.end())
      conditions.push_back(condition);
  std::string conditional;
  for (const auto& [key, value] : conditions) {
    const auto options = take([&](const Option& o) { return o.condition_key == key && o.condition_value == value; });
    const std::vector<std::string>& chosen = find(key).flag_texts;
    const bool is_chosen = !chosen.empty() && chosen.back() == value;
    if (options.empty() || (chosen.empty() ? is_short : !is_chosen)) continue;
    std::swap(out, conditional);
    add(fmt::format("Only with {} {}", flag_of_key(key), value), options);
    std::swap(out, conditional);
  }
  if (!is_short) {
    add(help_groups_.empty() ? "Options" : "Further options", take([](const Option& o) { return o.section.empty(); }));
    for (const std::string& section : sections())
      add(fmt::format("Further options, TOML section [{}]", section),
          take([&](const Option& o) { return o.section == section; }));
  }
  out += conditional;
  out += "\nHelp:\n" + two_columns("-h, --help", "print this help and exit");
  if (!help_groups_.empty()) {
    std::string more = "print all options and exit";
    if (is_short && !conditions.empty())
      more += fmt::format("; {} NAME --help adds those of one {}", flag_of_key(conditions.front().first),
                          conditions.front().first);
    out += two_columns("--help-all", more);
  }
  return out;
}

void OptionTable::add_to(CLI::App& app) {
  app.formatter(std::make_shared<HelpFormatter>(*this));
  if (!help_groups_.empty()) app.set_help_all_flag("--help-all", "print all options and exit");
  for (Option& option : options_) {
    std::vector<std::string> names = {flag_of(option)};
    for (const std::string& old_key : option.aliases) names.push_back(flag_of_key(old_key));
    if (is_switch(option)) {
      const size_t count = names.size();
      for (size_t i = 0; i < count; ++i) names.push_back("!--no-" + names[i].substr(2));
      app.add_flag(fmt::format("{}", fmt::join(names, ",")), option.flag_texts, option.help);
      continue;
    }
    const auto remember = [&option](const CLI::results_t& results) {
      option.flag_texts = results;
      return true;
    };
    CLI::Option* const registered =
        app.add_option(fmt::format("{}", fmt::join(names, ",")), remember, option.help)->type_size(1)->expected(1);
    if (is_repeatable(option)) registered->expected(1, CLI::detail::expected_max_vector_size)->allow_extra_args(true);
    registered->type_name(metavar_of(option));
  }
}

std::string OptionTable::to_markdown() const {
  const auto cell = [](std::string text) {
    for (size_t at = 0; (at = text.find('|', at)) != std::string::npos; at += 2) text.insert(at, 1, '\\');
    return text;
  };
  std::string out = "| flag | TOML key | default | allowed | what it does |\n|---|---|---|---|---|\n";
  for (const Option& option : options_) {
    const std::string name = flag_of(option);
    const std::string flags =
        is_switch(option) ? fmt::format("`{}`, `--no-{}`", name, name.substr(2)) : fmt::format("`{}`", name);
    const std::string initial = plain_of(option.initial);
    const std::string key = option.is_flag_only ? "" : fmt::format("`{}`", path_of(option.section, option.key));
    out += fmt::format("| {} | {} | {} | {} | {} |\n", flags, key, initial.empty() ? "" : cell("`" + initial + "`"),
                       cell(option.allowed), cell(option.help));
  }
  return out;
}

}  // namespace tributary
