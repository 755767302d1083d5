// Work in the middle of its course, kept so that it can go on as if nothing had happened.
//
// A snapshot is everything that the coming steps depend on: tensors by name and a few facts. Random numbers are not in
// it, because they belong to the number of a step and not to what was drawn before (base/random.h).
#pragma once

#include <initializer_list>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>

#include "tributary/model/layers.h"

namespace tributary {

// The facts have an allocation of their own, so that this header does not need json.hpp, which compiles slowly.
class Checkpoint {
  std::unique_ptr<nlohmann::json> facts_;

 public:
  Checkpoint();
  Checkpoint(const Checkpoint& other);
  Checkpoint(Checkpoint&& other);
  Checkpoint& operator=(Checkpoint other);
  ~Checkpoint();

  nlohmann::json& facts;  // of facts_
  NamedTensors tensors;

  // Adds tensors under `prefix`.
  void add(const std::string& prefix, const NamedTensors& more);
  // Null where there is none.
  const Tensor* find(const std::string& name) const;
  const Tensor& at(const std::string& name) const;
  // Copies the tensors under `prefix` into those of the same names, which stay where they are. An InputError where one
  // is missing or of another shape or type: the snapshot is of other work.
  void restore(const std::string& prefix, const NamedTensors& into) const;
  int64_t integer(const char* fact) const;
};

// Tensors of several parts, each under its name: "part.tensor".
NamedTensors joined_state(std::initializer_list<std::pair<std::string, NamedTensors>> parts);

// As safetensors with a checksum over everything, written in one piece or not at all.
void write_checkpoint(const std::string& path, const Checkpoint& checkpoint);
// An InputError says what is wrong with the file.
Checkpoint read_checkpoint(const std::string& path);

}  // namespace tributary
