// The method that a user chose, with its options: one table holds the options of all methods.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tributary/methods/registry.h"

namespace tributary {

class MethodChoice {
 public:
  // Declares --method, the common options and those of every method. The table must outlive this object's use.
  void declare(OptionTable& table);
  // Applies presets, the TOML file and the flags of the declared table, and checks the options of the chosen method.
  void resolve();

  const std::string& name() const { return name_; }
  int64_t batch() const { return common_.batch; }
  std::unique_ptr<Method> make() const;
  // The variant that sees the target's labels. InputError if the method has none.
  const OracleEntry& oracle() const;
  std::unique_ptr<Method> make_oracle(const Labels& labels) const;

 private:
  std::string names() const;
  const MethodEntry& entry() const;
  MethodOptions common() const;

  OptionTable* table_ = nullptr;
  std::vector<MethodEntry> methods_ = registered_methods();
  std::string name_ = "selective";
  MethodOptions common_;
};

}  // namespace tributary
