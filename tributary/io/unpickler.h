// A safe unpickler that builds tensors and containers and nothing else.
//
// A pickle is a program for a stack machine whose opcodes may call any Python function. This one implements the opcodes
// of protocols 2 to 5 that build numbers, strings, tuples, lists and dictionaries, and the few names that torch.save
// uses for tensors. All other names and opcodes are errors, so no code can run. Memory is bounded: at most one value
// per opcode, two million opcodes, a hundred levels of containers. Strings point into the pickle's bytes.
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tributary/io/safetensors.h"

namespace tributary {

// A storage outside the pickle, as described by torch.save's persistent IDs.
struct PickledStorage {
  DType dtype = DType::F32;
  std::string_view key;
  int64_t count = 0;  // elements of the whole storage
  int64_t first = 0;  // view into the storage (old files): `length` elements from here
  int64_t length = 0;
};

// A tensor as described by the pickle, not yet validated against its storage.
struct PickledTensor {
  const PickledStorage* storage = nullptr;
  int64_t offset = 0;  // in elements
  std::vector<int64_t> shape;
  std::vector<int64_t> strides;  // in elements, one per dimension
};

enum class PickleKind : uint8_t {
  kNone,
  kBool,
  kInt,
  kFloat,
  kText,
  kBytes,
  kTuple,
  kList,
  kDict,
  kName,
  kStorage,
  kTensor
};

std::string_view name_of(PickleKind kind);  // "a list"

// One value. Values refer to each other, possibly in cycles, and are owned by their Pickle.
struct PickleValue {
  PickleKind kind = PickleKind::kNone;
  uint16_t depth = 0;               // levels of nested containers
  union {                           // keeps values small; hostile pickles create many
    int64_t integer = 0;            // kInt, kBool; for kName, the index of the known name
    double real;                    // kFloat
    const PickledStorage* storage;  // kStorage
    const PickledTensor* tensor;    // kTensor
  };
  std::string_view text;                  // kText, kBytes, and the name of kName ("torch.float32")
  std::vector<const PickleValue*> items;  // of a tuple or list; of a dictionary: key, value, key, value, ..

  bool is(PickleKind other) const { return kind == other; }
  const PickleValue* find(std::string_view key) const;  // in a dictionary; null if there is none
};

// A pickle's root value and all values it refers to.
class Pickle {
 public:
  // Reads the pickle at the start of `bytes`, which must outlive it. Throws an InputError that names `file`.
  static Pickle read(std::span<const uint8_t> bytes, const std::string& file);

  Pickle(Pickle&&) = default;
  Pickle& operator=(Pickle&&) = default;
  Pickle(const Pickle&) = delete;
  Pickle& operator=(const Pickle&) = delete;

  const PickleValue& root() const { return *root_; }
  size_t size() const { return size_; }                                     // in bytes
  const std::deque<PickledStorage>& storages() const { return storages_; }  // in order of appearance, with duplicates

 private:
  friend class Unpickler;
  Pickle() = default;

  std::deque<PickleValue> values_;
  std::deque<PickledStorage> storages_;
  std::deque<PickledTensor> tensors_;
  const PickleValue* root_ = nullptr;
  size_t size_ = 0;
};

}  // namespace tributary
