#include "tributary/base/option_values.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <sstream>

#include "tributary/base/text.h"

namespace tributary {

std::string toml_text(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += {'\\', c};
    } else if (const auto byte = static_cast<unsigned char>(c); byte < 0x20 || byte == 0x7F) {
      out += fmt::format("\\u{:04X}", byte);
    } else {
      out += c;
    }
  }
  return out + '"';
}

std::string flag_of_key(std::string key) {
  std::replace(key.begin(), key.end(), '_', '-');
  return "--" + key;
}

std::string flag_of(const Option& option) {
  return flag_of_key(option.key);
}

std::string path_of(const std::string& section, const std::string& key) {
  return section.empty() ? key : section + "." + key;
}

// A point or an exponent tells TOML that the number is no integer.
std::string number_text(double value) {
  std::string text = fmt::format("{}", value);
  return text.find_first_of(".en") == std::string::npos ? text + ".0" : text;
}

namespace {

struct AsToml {
  std::string operator()(bool value) const { return value ? "true" : "false"; }
  std::string operator()(int64_t value) const { return std::to_string(value); }
  std::string operator()(double value) const { return number_text(value); }
  std::string operator()(const std::string& value) const { return toml_text(value); }
  std::string operator()(const std::vector<std::string>& values) const {
    std::vector<std::string> items(values.size());
    std::transform(values.begin(), values.end(), items.begin(), toml_text);
    return fmt::format("[{}]", fmt::join(items, ", "));
  }
};

void flatten(const toml::table& table, const std::string& prefix, std::map<std::string, std::string>& out) {
  for (const auto& [key, node] : table) {
    const std::string path = path_of(prefix, std::string(key.str()));
    if (const toml::table* inner = node.as_table()) {
      flatten(*inner, path, out);
    } else {
      out[path] = text_of_node(node);
    }
  }
}

void replace_all(std::string& text, const std::string& from, const std::string& to) {
  for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
}

}  // namespace

std::string toml_of(const OptionValue& value) {
  return std::visit(AsToml{}, value);
}

std::string plain_of(const OptionValue& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  if (const auto* texts = std::get_if<std::vector<std::string>>(&value))
    return fmt::format("{}", fmt::join(*texts, ", "));
  return toml_of(value);
}

std::string text_of_node(const toml::node& node) {
  if (const auto* value = node.as_floating_point()) return number_text(value->get());
  if (const auto* value = node.as_integer()) return std::to_string(value->get());
  if (const auto* value = node.as_string()) return toml_text(value->get());
  if (node.is_table()) return "a table";
  if (const toml::array* array = node.as_array()) {
    std::vector<std::string> items;
    for (const toml::node& item : *array) items.push_back(text_of_node(item));
    return fmt::format("[{}]", fmt::join(items, ", "));
  }
  std::ostringstream out;
  node.visit([&out](const auto& value) { out << value; });
  return out.str();
}

std::string OptionTable::to_toml() const {
  return to_toml([](const Option& option) { return option.read(); });
}

std::string OptionTable::to_toml(const std::function<OptionValue(const Option&)>& value_of) const {
  const auto lines_of = [&](const std::string& section) {
    std::string lines;
    for (const Option& option : options_)
      if (option.section == section && !option.is_transient)
        lines += fmt::format("{} = {}\n", option.key, toml_of(value_of(option)));
    return lines;
  };
  std::string out = lines_of("");
  for (const std::string& section : sections()) {
    const std::string lines = lines_of(section);
    if (!lines.empty()) out += fmt::format("{}[{}]\n{}", out.empty() ? "" : "\n", section, lines);
  }
  return out;
}

Configuration OptionTable::configuration() const {
  Configuration::Renamed renamed;
  std::map<std::string, Configuration::Renamed> values;
  for (const Option& option : options_) {
    for (const std::string& old_key : option.aliases)
      renamed[path_of(option.section, old_key)] = path_of(option.section, option.key);
    if (!option.old_values.empty()) values[path_of(option.section, option.key)] = option.old_values;
  }
  return {to_toml(), renamed, to_toml([](const Option& option) { return option.initial; }), values};
}

std::vector<std::string> differences(const std::string& there, const Configuration& here) {
  std::map<std::string, std::string> old_values;
  std::map<std::string, std::string> new_values;
  std::map<std::string, std::string> defaults;
  flatten(parse_toml(there, "the configuration there"), "", old_values);
  flatten(parse_toml(here.text, "the configuration here"), "", new_values);
  flatten(parse_toml(here.defaults, "the defaults"), "", defaults);
  for (const auto& [old_name, name] : here.renamed)
    if (auto node = old_values.extract(old_name)) {
      node.key() = name;
      old_values.insert(std::move(node));
    }
  for (const auto& [key, renamed] : here.renamed_values)
    if (const auto found = old_values.find(key); found != old_values.end())
      for (const auto& [old_value, value] : renamed) replace_all(found->second, toml_text(old_value), toml_text(value));

  std::map<std::string, std::pair<std::string, std::string>> both;
  for (const auto& [key, value] : old_values) both[key] = {value, "absent"};
  for (const auto& [key, value] : new_values) {
    const auto found = old_values.find(key);
    const auto initial = defaults.find(key);
    if (found == old_values.end() && initial != defaults.end() && initial->second == value) continue;
    both[key] = {found == old_values.end() ? "absent" : found->second, value};
  }
  // A run of several processes records no number of threads (0).
  const auto any_threads = [](const std::string& key, const auto& values) {
    return key == "threads" && (values.first == "0" || values.second == "0");
  };
  std::vector<std::string> lines;
  for (const auto& [key, values] : both)
    if (values.first != values.second && !any_threads(key, values))
      lines.push_back(fmt::format("{}: {} there, {} here", printable(key), printable(values.first, 200),
                                  printable(values.second, 200)));
  return lines;
}

}  // namespace tributary
