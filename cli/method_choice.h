// Which method adapts, and with what: the options of all of them in one table, and the one that was chosen.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tributary/methods/registry.h"
#include "tributary/methods/selective/selective_options.h"

namespace tributary::cli {

class MethodChoice {
 public:
  void declare(OptionTable& table);
  // Takes over what was read. An InputError says what is wrong with the options of the chosen method.
  void resolve_options(OptionTable& table);

  const std::string& name() const { return name_; }
  const SelectiveOptions& selective() const { return selective_; }
  std::unique_ptr<Method> make(const OptionTable& table) const;

 private:
  std::string names() const;

  SelectiveOptions selective_;  // its common part counts for all
  std::vector<MethodEntry> compared_ = compared_methods();
  std::string name_ = "selective";
  int64_t epochs_ = 0;
};

}  // namespace tributary::cli
