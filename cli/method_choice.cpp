#include "cli/method_choice.h"

#include "tributary/base/error.h"
#include "tributary/base/text.h"
#include "tributary/methods/selective/selective.h"

namespace tributary::cli {

void MethodChoice::declare(OptionTable& table) {
  table.text("adapt", "method", &name_, "method: " + names());
  table.integer("adapt", "epochs", &epochs_, 0, 100000,
                "passes over the target set, for methods other than selective; 0 takes the method's default");
  tributary::declare(table, selective_);
  for (const MethodEntry& entry : compared_) table.only_with("method", entry.name, [&] { entry.declare(table); });
}

void MethodChoice::resolve_options(OptionTable& table) {
  tributary::resolve_options(table, selective_);
  make(table);
}

std::string MethodChoice::names() const {
  std::string all = "selective";
  for (const MethodEntry& entry : compared_) all += ", " + entry.name;
  return all;
}

std::unique_ptr<Method> MethodChoice::make(const OptionTable& table) const {
  if (name_ == "selective") return std::make_unique<SelectiveSelfTraining>(selective_);
  for (const MethodEntry& entry : compared_) {
    if (entry.name != name_) continue;
    BaselineOptions common;
    common.seed = static_cast<uint64_t>(selective_.seed);
    common.benchmark = selective_.benchmark;
    common.epochs = epochs_;
    if (table.given("batch")) common.batch = selective_.batch;
    common.rate_backbone = selective_.rate_backbone;
    if (table.given("rate_bottleneck")) common.rate_bottleneck = selective_.rate_bottleneck;
    common.augmentation = selective_.augmentation;
    common.precision = selective_.precision;
    common.cuda_graph = selective_.cuda_graph;
    return entry.make(common);
  }
  input_error("--method {}: choose one of {}", printable(name_), names());
}

}  // namespace tributary::cli
