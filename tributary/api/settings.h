// Options by name: those of `tributary adapt`, for C++ and Python.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace tributary {

// One option with its value: {"rounds", 5}, {"method", "shot"}, {"augment", true}. The names are those of
// docs/options.md with underscores.
class Setting {
 public:
  Setting(std::string key, std::string value) : key_(std::move(key)), texts_{std::move(value)} {}
  Setting(std::string key, const char* value) : Setting(std::move(key), std::string(value)) {}
  Setting(std::string key, std::vector<std::string> values) : key_(std::move(key)), texts_(std::move(values)) {}
  Setting(std::string key, bool value) : Setting(std::move(key), value ? "true" : "false") {}
  Setting(std::string key, std::integral auto value) : Setting(std::move(key), std::to_string(value)) {}
  Setting(std::string key, double value);

  const std::string& key() const { return key_; }
  const std::vector<std::string>& texts() const { return texts_; }

 private:
  std::string key_;
  std::vector<std::string> texts_;
};

using Settings = std::vector<Setting>;

// One option that can be set.
struct OptionInfo {
  enum class Kind { kFlag, kInteger, kNumber, kText, kTexts };
  std::string key, help;
  Kind kind = Kind::kText;
  std::string initial;               // the default as text
  std::string allowed;               // in words: "1 .. 1000"
  std::vector<std::string> choices;  // empty unless only these values are allowed
  std::string method;                // the only method that has it; empty: all
};

// The options of adapt(), those of registered methods included.
std::vector<OptionInfo> adaptation_options();
// The options of Model.
std::vector<OptionInfo> model_options();

}  // namespace tributary
