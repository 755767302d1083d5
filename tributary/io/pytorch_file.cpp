#include "tributary/io/pytorch_file.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <set>
#include <utility>

#include "tributary/base/error.h"
#include "tributary/base/files.h"
#include "tributary/base/text.h"
#include "tributary/io/unpickler.h"
#include "tributary/io/zip_reader.h"

namespace tributary {
namespace {

using Bytes = std::span<const uint8_t>;

constexpr std::array<uint8_t, 4> kZipStart{'P', 'K', 3, 4};
// The pickled magic number 0x1950a86a20f9469cfc6c without its protocol.
constexpr std::array<uint8_t, 13> kLegacyStart{0x8a, 10,   0x6c, 0xfc, 0x9c, 0x46, 0xf9,
                                               0x20, 0x6a, 0xa8, 0x50, 0x19, '.'};
constexpr int64_t kLegacyProtocol = 1001;
constexpr std::array<std::string_view, 9> kWrappers{"state_dict",     "model_state_dict", "model",     "net", "module",
                                                    "state_dict_ema", "model_ema",        "ema_model", "ema"};
constexpr int kMaxWrappers = 4;  // dictionaries around the state dictionary
constexpr size_t kMaxTensors = 100'000;
constexpr std::string_view kParallelPrefix = "module.";

bool starts_with(Bytes bytes, Bytes start) {
  return bytes.size() >= start.size() && std::equal(start.begin(), start.end(), bytes.begin());
}

// The length of the pickled magic number at the start of the legacy format; nullopt if there is none. Pickle protocols
// 4 and above put a frame of nine bytes in front of the number.
std::optional<size_t> legacy_start(Bytes bytes) {
  if (bytes.empty() || bytes[0] != 0x80) return std::nullopt;
  for (const size_t at : {size_t{2}, size_t{11}})
    if (bytes.size() > at && starts_with(bytes.subspan(at), kLegacyStart)) return at + kLegacyStart.size();
  return std::nullopt;
}

template <typename... Args>
[[noreturn]] void unreadable(const std::string& file, fmt::format_string<Args...> format, Args&&... args) {
  input_error("{} is not a readable PyTorch file ({}); if it is truncated, download or save it again", file,
              fmt::format(format, std::forward<Args>(args)...));
}

bool holds_tensors(const PickleValue& dict) {
  for (size_t i = 1; i < dict.items.size(); i += 2)
    if (dict.items[i]->is(PickleKind::kTensor)) return true;
  return false;
}

// The key under which the search for the state dictionary continues: the first wrapper with tensors, or, if `dict` has
// no tensors itself, the first wrapper that is a dictionary. Empty at the end of the search.
std::string_view next_wrapper(const PickleValue& dict) {
  std::string_view fallback;
  for (const std::string_view key : kWrappers) {
    const PickleValue* inner = dict.find(key);
    if (inner == nullptr || !inner->is(PickleKind::kDict)) continue;
    if (holds_tensors(*inner)) return key;
    if (fallback.empty()) fallback = key;
  }
  return holds_tensors(dict) ? std::string_view() : fallback;
}

std::string key_name(const PickleValue& key) {
  if (key.is(PickleKind::kText)) return printable(key.text);
  if (key.is(PickleKind::kInt)) return std::to_string(key.integer);
  return fmt::format("({})", name_of(key.kind));
}

std::string listed(const std::vector<int64_t>& numbers) {
  return printable(fmt::format("{}", fmt::join(numbers, ", ")));
}

// Copies the elements of a view in row-major order. The caller has checked that they are within `from`.
void gather(const uint8_t* from, const PickledTensor& tensor, size_t width, std::vector<uint8_t>& to) {
  const size_t dimensions = tensor.shape.size();
  std::vector<int64_t> at(dimensions, 0);
  std::vector<ptrdiff_t> steps(dimensions, 0);  // in bytes; a dimension of one element may have any stride
  for (size_t d = 0; d < dimensions; ++d)
    if (tensor.shape[d] > 1) steps[d] = tensor.strides[d] * static_cast<ptrdiff_t>(width);
  const uint8_t* source = from;
  for (size_t written = 0; written < to.size(); written += width) {
    std::memcpy(to.data() + written, source, width);
    for (size_t d = dimensions; d-- > 0;) {  // the next element: increment the last index with carry
      if (++at[d] < tensor.shape[d]) {
        source += steps[d];
        break;
      }
      source -= steps[d] * (tensor.shape[d] - 1);
      at[d] = 0;
    }
  }
}

}  // namespace

// Parses the bytes of a PytorchFile. Not in an unnamed namespace because it is a friend of PytorchFile.
class StateDictReader {
 public:
  explicit StateDictReader(PytorchFile& file) : file_(file), bytes_(file.bytes_) {}

  void run() {
    if (starts_with(bytes_, kZipStart)) {
      read_zip();
    } else if (const std::optional<size_t> start = legacy_start(bytes_)) {
      file_.legacy_ = true;
      read_legacy(*start);
    } else {
      unreadable(file_.name_, "neither a zip archive nor a file with PyTorch's magic number");
    }
    read_state(pickle_->root());
    for (size_t i = 0; i < file_.entries_.size(); ++i) file_.index_.emplace(file_.entries_[i].name, i);
  }

 private:
  void read_zip() {
    zip_.emplace(bytes_, file_.name_);
    const ZipEntry* main = nullptr;
    for (const ZipEntry& entry : zip_->entries()) {
      const size_t slash = entry.name.find('/');
      if (slash == std::string_view::npos || entry.name.substr(slash) != "/data.pkl") continue;
      if (main != nullptr) unreadable(file_.name_, "its zip archive holds data.pkl in two folders");
      main = &entry;
      folder_ = entry.name.substr(0, slash + 1);
    }
    if (main == nullptr) unreadable(file_.name_, "its zip archive holds no data.pkl");
    if (zip_->find(folder_ + "constants.pkl") != nullptr)
      input_error(
          "{} is a TorchScript archive, which is code; pass --trust if you trust its author, or save "
          "model.state_dict() "
          "instead",
          file_.name_);
    if (const ZipEntry* order = zip_->find(folder_ + "byteorder")) {
      const Bytes content = zip_->content(*order);
      const std::string_view text(reinterpret_cast<const char*>(content.data()), content.size());
      if (text != "little") unreadable(file_.name_, "its byte order is \"{}\" instead of little", printable(text));
    }
    const Bytes content = zip_->content(*main);
    pickle_.emplace(Pickle::read(content, file_.name_));
    if (pickle_->size() != content.size())
      unreadable(file_.name_, "{} bytes of data.pkl are left over", content.size() - pickle_->size());
  }

  // After the magic number: version, system info, root value, the keys of the storages in the order of their data, and
  // for each storage its number of elements and the elements.
  void read_legacy(size_t at) {
    const auto next_pickle = [&]() {
      Pickle pickle = Pickle::read(bytes_.subspan(at), file_.name_);
      at += pickle.size();
      return pickle;
    };
    const Pickle version = next_pickle();
    if (!version.root().is(PickleKind::kInt) || version.root().integer != kLegacyProtocol)
      unreadable(file_.name_, "its version is not {}", kLegacyProtocol);
    const Pickle machine = next_pickle();
    const PickleValue* little = machine.root().find("little_endian");
    if (little == nullptr || !little->is(PickleKind::kBool) || little->integer == 0)
      unreadable(file_.name_, "its byte order is not little");
    pickle_.emplace(next_pickle());

    std::map<std::string_view, DType> types;
    for (const PickledStorage& storage : pickle_->storages()) types.emplace(storage.key, storage.dtype);
    const Pickle keys = next_pickle();
    if (!keys.root().is(PickleKind::kList)) unreadable(file_.name_, "it has no list of storages");
    for (const PickleValue* key : keys.root().items) {
      const auto type = key->is(PickleKind::kText) ? types.find(key->text) : types.end();
      if (type == types.end()) unreadable(file_.name_, "a storage {} that no tensor uses", key_name(*key));
      if (bytes_.size() - at < 8) unreadable(file_.name_, "it ends before storage {}", key_name(*key));
      uint64_t count = 0;
      for (size_t i = 0; i < 8; ++i) count |= static_cast<uint64_t>(bytes_[at + i]) << (8 * i);
      at += 8;
      const size_t width = size_of(type->second);
      if (count > (bytes_.size() - at) / width)
        unreadable(file_.name_, "storage {} of {} elements in the last {} bytes", key_name(*key), count,
                   bytes_.size() - at);
      // The key points into `pickle_`, which lives as long as this object.
      if (!known_.emplace(type->first, bytes_.subspan(at, count * width)).second)
        unreadable(file_.name_, "two storages are named {}", key_name(*key));
      at += count * width;
    }
    if (at != bytes_.size()) unreadable(file_.name_, "{} bytes are left over at its end", bytes_.size() - at);
  }

  // The bytes of a whole storage, checked against the size in the pickle.
  Bytes storage_bytes(const PickledStorage& storage) {
    auto found = known_.find(storage.key);
    if (found == known_.end()) {
      const ZipEntry* entry = zip_ ? zip_->find(fmt::format("{}data/{}", folder_, storage.key)) : nullptr;
      if (entry == nullptr) unreadable(file_.name_, "it lacks the storage {}", printable(storage.key));
      found = known_.emplace(storage.key, zip_->content(*entry)).first;
    }
    const size_t width = size_of(storage.dtype);
    const Bytes bytes = found->second;
    if (bytes.size() % width != 0 || bytes.size() / width != static_cast<uint64_t>(storage.count))
      unreadable(file_.name_, "storage {} should have {} elements of {} but has {} bytes", printable(storage.key),
                 storage.count, name_of(storage.dtype), bytes.size());
    return bytes;
  }

  // Finds the state dictionary and reads its tensors; all other keys are added to `ignored_`.
  void read_state(const PickleValue& root) {
    const PickleValue* dict = &root;
    std::string path;
    for (int level = 0;; ++level) {
      if (!dict->is(PickleKind::kDict))
        input_error("{} contains {} instead of a dictionary of tensors; save model.state_dict()", file_.name_,
                    name_of(dict->kind));
      const std::string_view wrapper = level < kMaxWrappers ? next_wrapper(*dict) : std::string_view();
      read_items(*dict, wrapper, path);
      if (wrapper.empty()) break;
      path += fmt::format("{}.", wrapper);
      file_.wrappers_.emplace_back(wrapper);
      dict = dict->find(wrapper);
    }
    std::vector<TensorEntry>& entries = file_.entries_;
    if (entries.empty())
      input_error("{} has no tensors at the top level or under {}{}; save model.state_dict()", file_.name_,
                  fmt::join(kWrappers, ", "),
                  file_.ignored_.empty() ? "" : fmt::format(" (its first key is {})", file_.ignored_.front()));
    const bool parallel = std::all_of(entries.begin(), entries.end(),
                                      [](const TensorEntry& entry) { return entry.name.starts_with(kParallelPrefix); });
    if (!parallel) return;
    file_.prefix_ = kParallelPrefix;
    for (TensorEntry& entry : entries) entry.name.erase(0, kParallelPrefix.size());
  }

  // With a wrapper, all other keys are ignored, tensors included; without one, the tensors are the state.
  void read_items(const PickleValue& dict, std::string_view wrapper, const std::string& path) {
    std::set<std::string_view> keys;
    for (size_t i = 0; i + 1 < dict.items.size(); i += 2) {
      const PickleValue& key = *dict.items[i];
      const PickleValue& value = *dict.items[i + 1];
      const bool text = key.is(PickleKind::kText);
      if (text && !keys.insert(key.text).second) unreadable(file_.name_, "it holds \"{}\" twice", key_name(key));
      if (text && !wrapper.empty() && key.text == wrapper) continue;
      if (text && wrapper.empty() && value.is(PickleKind::kTensor))
        read_tensor(key.text, *value.tensor);
      else
        file_.ignored_.push_back(path + key_name(key));
    }
  }

  void read_tensor(std::string_view name, const PickledTensor& tensor) {
    if (!is_utf8(name)) unreadable(file_.name_, "the tensor's name \"{}\" is not UTF-8", printable(name));
    if (file_.entries_.size() >= kMaxTensors) unreadable(file_.name_, "it holds more than {} tensors", kMaxTensors);
    const PickledStorage& storage = *tensor.storage;
    const auto wrong = [&](std::string_view what) {
      unreadable(file_.name_,
                 "tensor \"{}\" of {} [{}] with strides [{}] from element {} {} its storage of {} elements",
                 printable(name), name_of(storage.dtype), listed(tensor.shape), listed(tensor.strides), tensor.offset,
                 what, storage.length);
    };
    const Bytes whole = storage_bytes(storage);
    const int64_t width = static_cast<int64_t>(size_of(storage.dtype));

    // Computes the size in bytes, the last element, and whether the tensor is contiguous. The product of the other
    // extents must not overflow even if one extent is zero.
    int64_t size = width;
    int64_t last = tensor.offset;
    bool contiguous = true;
    bool empty = false;
    if (tensor.offset < 0) wrong("lies before");
    for (size_t d = tensor.shape.size(); d-- > 0;) {
      const int64_t extent = tensor.shape[d];
      const int64_t stride = tensor.strides[d];
      if (extent < 0 || stride < 0) wrong("has negative numbers for");
      if (extent == 0) empty = true;
      if (extent <= 1) continue;
      if (stride != size / width) contiguous = false;
      int64_t reach = 0;
      if (__builtin_mul_overflow(size, extent, &size) || __builtin_mul_overflow(extent - 1, stride, &reach) ||
          __builtin_add_overflow(last, reach, &last))
        wrong("is too large for");
    }
    TensorEntry entry{std::string(name), storage.dtype, tensor.shape, {}};
    if (!empty) {
      if (last >= storage.length) wrong("reaches outside");
      const Bytes from = whole.subspan(static_cast<size_t>((storage.first + tensor.offset) * width));
      entry.data = contiguous ? from.first(static_cast<size_t>(size)) : copied(from, tensor, size, name);
    }
    file_.entries_.push_back(std::move(entry));
  }

  Bytes copied(Bytes from, const PickledTensor& tensor, int64_t size, std::string_view name) {
    if (static_cast<uint64_t>(size) > bytes_.size() - copied_)
      input_error(
          "{}: tensor \"{}\" of [{}] takes {} bytes, which with the other non-contiguous tensors is more "
          "than the file's own {}; save it with .contiguous()",
          file_.name_, printable(name), listed(tensor.shape), size, bytes_.size());
    copied_ += static_cast<size_t>(size);
    std::vector<uint8_t>& copy = file_.copies_.emplace_back(static_cast<size_t>(size));
    gather(from.data(), tensor, size_of(tensor.storage->dtype), copy);
    return copy;
  }

  PytorchFile& file_;
  Bytes bytes_;
  std::optional<ZipReader> zip_;
  std::string folder_;  // within the archive, with a trailing slash
  std::optional<Pickle> pickle_;
  std::map<std::string_view, Bytes> known_;  // storages by key, filled on demand
  size_t copied_ = 0;
};

bool looks_like_pytorch_file(std::span<const uint8_t> bytes) {
  return starts_with(bytes, kZipStart) || legacy_start(bytes).has_value();
}

PytorchFile PytorchFile::read(const std::string& path) {
  return parse(read_file(path), path);
}

PytorchFile PytorchFile::parse(std::vector<uint8_t> bytes, std::string name) {
  PytorchFile file;
  file.name_ = std::move(name);
  file.bytes_ = std::move(bytes);
  StateDictReader(file).run();
  return file;
}

const TensorEntry* PytorchFile::find(std::string_view tensor) const {
  const auto found = index_.find(tensor);
  return found == index_.end() ? nullptr : &entries_[found->second];
}

const TensorEntry& PytorchFile::at(std::string_view tensor) const {
  const TensorEntry* entry = find(tensor);
  if (entry == nullptr)
    input_error("{} has no tensor \"{}\"; use a file of the same kind of model", name_, printable(tensor));
  return *entry;
}

}  // namespace tributary
