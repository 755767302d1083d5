// Pickles as data: an unpickler that can build tensors and containers and nothing else.
//
// A pickle is a program for a small stack machine whose instructions may call any function by name. This machine knows
// the instructions of protocols 2 to 5 that build numbers, texts, tuples, lists and dictionaries, and a short list of
// names that torch.save uses for tensors. Every other name and instruction is refused by name: there is nothing here
// that could be called. What it makes is bounded by the pickle: at most one value an instruction, two million
// instructions, a hundred levels of containers. Texts point into the pickle's own bytes.
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tributary/io/safetensors.h"

namespace tributary {

// Elements that lie outside the pickle under a key, as torch.save's persistent ids name them.
struct PickledStorage {
  DType dtype = DType::F32;
  std::string_view key;
  int64_t count = 0;  // elements of the whole storage
  int64_t first = 0;  // a view into it (old files): `length` elements from here
  int64_t length = 0;
};

// A tensor as the pickle claims it; nothing is checked against the storage yet.
struct PickledTensor {
  const PickledStorage* storage = nullptr;
  int64_t offset = 0;  // in elements
  std::vector<int64_t> shape;
  std::vector<int64_t> strides;  // in elements, as many as the shape has
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

// One value. Values refer to each other, possibly in circles, and are owned by their Pickle: walk with care.
struct PickleValue {
  PickleKind kind = PickleKind::kNone;
  uint16_t depth = 0;               // levels of containers below
  union {                           // small, because hostile pickles make many
    int64_t integer = 0;            // kInt, kBool, and which one of the names we know for kName
    double real;                    // kFloat
    const PickledStorage* storage;  // kStorage
    const PickledTensor* tensor;    // kTensor
  };
  std::string_view text;                  // kText, kBytes, and the name of kName ("torch.float32")
  std::vector<const PickleValue*> items;  // of a tuple or a list; of a dictionary key, value, key, value in order

  bool is(PickleKind other) const { return kind == other; }
  const PickleValue* find(std::string_view key) const;  // in a dictionary, null where there is none
};

// A pickle's value and all it refers to. Movable, not copyable.
class Pickle {
 public:
  // Reads the pickle that `bytes` begin with; they must outlive it. An InputError names `file` and what was refused.
  static Pickle read(std::span<const uint8_t> bytes, const std::string& file);

  Pickle(Pickle&&) = default;
  Pickle& operator=(Pickle&&) = default;
  Pickle(const Pickle&) = delete;
  Pickle& operator=(const Pickle&) = delete;

  const PickleValue& root() const { return *root_; }
  size_t size() const { return size_; }                                     // in bytes, its last instruction included
  const std::deque<PickledStorage>& storages() const { return storages_; }  // all it names, in order, with repetitions

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
