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
  // Throws an InputError if an option was given that the method does not use.
  void resolve();
  // The names of the methods that use an option of the table.
  std::vector<std::string> users_of(const std::string& key) const;

  const std::string& name() const { return name_; }
  int64_t batch() const { return common_.batch; }
  const MethodEntry& entry() const;  // InputError if there is no such method
  // The common options of the chosen method. A batch or bottleneck rate that the user did not give is unset.
  MethodOptions common() const;
  std::unique_ptr<Method> make() const { return entry().make(common()); }
  // InputError if the method has no oracle.
  void require_oracle() const;
  // InputError if the method cannot train on labels that the user gives.
  void require_labels() const;

 private:
  std::string names() const;
  const MethodEntry& entry(const std::string& name) const;
  void require_used() const;

  OptionTable* table_ = nullptr;
  std::vector<MethodEntry> methods_ = registered_methods();
  std::string name_ = "selective";
  MethodOptions common_;
};

}  // namespace tributary
