#include "tributary/api/settings.h"

#include <algorithm>

#include "tributary/api/model_setup.h"
#include "tributary/api/option_list.h"
#include "tributary/base/error.h"
#include "tributary/base/option_values.h"
#include "tributary/base/text.h"
#include "tributary/run/adaptation_setup.h"

namespace tributary {
namespace {

// Options that arguments of adapt() stand for, or that only the program has.
bool is_of_program(const Option& option) {
  for (const char* key : {"source", "target", "run", "config", "json"})
    if (option.key == key) return true;
  return option.section == "scale";
}

OptionInfo info_of(const Option& option) {
  OptionInfo info;
  info.key = option.key;
  info.help = option.help;
  info.kind = static_cast<OptionInfo::Kind>(option.initial.index());
  info.initial = plain_of(option.initial);
  info.allowed = option.allowed;
  info.choices = option.choices;
  info.method = option.condition_value;
  return info;
}

}  // namespace

Setting::Setting(std::string key, double value) : Setting(std::move(key), number_text(value)) {}

std::vector<OptionInfo> option_list(const OptionTable& table) {
  std::vector<OptionInfo> all;
  for (const Option& option : table.options())
    if (!is_of_program(option)) all.push_back(info_of(option));
  return all;
}

void apply_settings(OptionTable& table, const Settings& settings) {
  std::vector<std::string> known;
  for (const Option& option : table.options())
    if (!is_of_program(option)) known.push_back(option.key);
  for (const Setting& setting : settings) {
    std::string key = setting.key();
    std::replace(key.begin(), key.end(), '-', '_');
    bool found = false;
    for (const Option& option : table.options()) {
      if (!option.is_called(key)) continue;
      found = true;
      if (is_of_program(option))
        input_error("{} is an option of the program only; the library takes it as an argument, or not at all", key);
    }
    if (const std::string near = nearest(key, known); !found)
      input_error("there is no option '{}'; {}", printable(key),
                  near.empty() ? "docs/options.md lists those there are" : "did you mean " + near + "?");
    for (const std::string& text : setting.texts()) table.set_flag("settings", key, text);
  }
}

std::vector<OptionInfo> adaptation_options() {
  return option_list(AdaptationSetup().table);
}

std::vector<OptionInfo> model_options() {
  return option_list(ModelSetup().table);
}

}  // namespace tributary
