#include "tributary/methods/method_choice.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "tributary/base/error.h"
#include "tributary/base/option_values.h"
#include "tributary/base/text.h"

namespace tributary {

void MethodChoice::declare(OptionTable& table) {
  table_ = &table;
  table.text("adapt", "method", &name_, "method: " + names());
  table.integer("adapt", "epochs", &common_.epochs, 0, 100000,
                "passes over the target set, for methods other than selective; 0 takes the method's default");
  // Shown and recorded for every method, but passed on only if the user sets them.
  common_.batch = 64;
  common_.rate_bottleneck = 1e-2;
  tributary::declare(table, common_);
  for (const MethodEntry& entry : methods_) table.only_with("method", entry.name, [&] { entry.declare(table); });
}

void MethodChoice::resolve() {
  for (const MethodEntry& entry : methods_)
    if (entry.apply_presets) entry.apply_presets(*table_, common_);
  require_used();
  table_->apply_toml();
  table_->apply_flags();
  for (const MethodEntry& entry : methods_)
    if (entry.resolve) entry.resolve();
  make();
}

std::string MethodChoice::names() const {
  std::string all;
  for (const MethodEntry& entry : methods_) all += (all.empty() ? "" : ", ") + entry.name;
  return all;
}

std::vector<std::string> MethodChoice::users_of(const std::string& key) const {
  if (const std::string owner = table_->condition_of(key); !owner.empty()) return {owner};
  std::vector<std::string> users;
  const auto has = [&](const std::vector<std::string>& keys) {
    return std::find(keys.begin(), keys.end(), key) != keys.end();
  };
  for (const MethodEntry& entry : methods_)
    if (key == "epochs" ? has(entry.length_options) : !has(entry.unused_options)) users.push_back(entry.name);
  return users;
}

void MethodChoice::require_used() const {
  const MethodEntry& chosen = entry(table_->given("method").value_or(name_));
  for (const GivenOption& given : table_->given_options()) {
    const std::vector<std::string> users = users_of(given.key);
    if (std::find(users.begin(), users.end(), chosen.name) != users.end()) continue;
    std::string length;
    for (const std::string& key : chosen.length_options)
      if (given.key == "epochs" || given.key == "rounds" || given.key == "inner_epochs")
        length += fmt::format("{}{}", length.empty() ? "; its length is set with " : " and ", flag_of_key(key));
    input_error("{} has no effect with --method {}; only {} use{} it{}", given.where, chosen.name,
                fmt::join(users, ", "), users.size() == 1 ? "s" : "", length);
  }
}

const MethodEntry& MethodChoice::entry(const std::string& name) const {
  for (const MethodEntry& entry : methods_)
    if (entry.name == name) return entry;
  input_error("--method {}: choose one of {}", printable(name), names());
}

const MethodEntry& MethodChoice::entry() const {
  return entry(name_);
}

MethodOptions MethodChoice::common() const {
  MethodOptions common = common_;
  const MethodOptions unset;
  if (!table_->given("batch")) common.batch = unset.batch;
  if (!table_->given("rate_bottleneck")) common.rate_bottleneck = unset.rate_bottleneck;
  return common;
}

void MethodChoice::require_oracle() const {
  if (entry().oracle) return;
  std::string names;
  for (const MethodEntry& other : methods_)
    if (other.oracle) names += (names.empty() ? "" : ", ") + other.name;
  input_error("--oracle-labels belongs to --method {}; {} has no oracle", names, name_);
}

void MethodChoice::require_labels() const {
  if (entry().make_with_labels) return;
  std::vector<std::string> names;
  for (const MethodEntry& other : methods_)
    if (other.make_with_labels) names.push_back(other.name);
  input_error("--labels has no effect with --method {}; only {} use{} it", name_, fmt::join(names, ", "),
              names.size() == 1 ? "s" : "");
}

}  // namespace tributary
