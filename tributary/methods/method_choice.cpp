#include "tributary/methods/method_choice.h"

#include "tributary/base/error.h"
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

const MethodEntry& MethodChoice::entry() const {
  for (const MethodEntry& entry : methods_)
    if (entry.name == name_) return entry;
  input_error("--method {}: choose one of {}", printable(name_), names());
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

}  // namespace tributary
