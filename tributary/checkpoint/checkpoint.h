// A checkpoint: the state from which interrupted training resumes with bit-identical results.
//
// It holds everything that later steps depend on: named tensors and a few facts. It stores no generator state, because
// random streams are keyed by the step number and not by earlier draws (base/random.h).
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
 public:
  Checkpoint();
  Checkpoint(const Checkpoint& other);
  Checkpoint(Checkpoint&& other) noexcept;
  Checkpoint& operator=(Checkpoint other) noexcept;
  ~Checkpoint();

  nlohmann::json& facts() { return *facts_; }
  const nlohmann::json& facts() const { return *facts_; }
  NamedTensors tensors;

  // Appends tensors, with `prefix` prepended to their names.
  void add(const std::string& prefix, const NamedTensors& more);
  // Returns null if there is no tensor of that name; at() throws an InputError.
  const Tensor* find(const std::string& name) const;
  const Tensor& at(const std::string& name) const;
  // Copies the tensor `prefix` + name into each tensor of `into`, in place and on its device. Throws an InputError if
  // one is missing or has another shape or dtype, i.e. if the checkpoint is of another run.
  void restore(const std::string& prefix, const NamedTensors& into) const;
  // Throws an InputError if the fact is missing or not an integer of low .. high.
  int64_t integer(const char* fact, int64_t low = 0, int64_t high = int64_t{1} << 53) const;
  // A finite number; `missing` if there is none. Throws an InputError if it is something else.
  double number(const char* fact, double missing) const;

 private:
  std::unique_ptr<nlohmann::json> facts_;  // null only after a move
};

// Begins the names of tensors that only the first rank of a run restores: those of its observers.
inline constexpr const char* kOfFirstRank = "observer.";

// Concatenates the tensors of several parts, renamed to "part.tensor".
NamedTensors joined_state(std::initializer_list<std::pair<std::string, NamedTensors>> parts);

// Writes a safetensors file with a checksum over its whole content, atomically.
void write_checkpoint(const std::string& path, const Checkpoint& checkpoint);
// Throws an InputError if the file is damaged or not a checkpoint.
Checkpoint read_checkpoint(const std::string& path);

}  // namespace tributary
