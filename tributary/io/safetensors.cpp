#include "tributary/io/safetensors.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "tributary/base/error.h"
#include "tributary/base/files.h"
#include "tributary/base/json_text.h"
#include "tributary/base/text.h"

namespace tributary {
namespace {

constexpr uint64_t kLengthBytes = 8;
constexpr uint64_t kMaxHeaderBytes = 100'000'000;
constexpr size_t kMaxDimensions = 64;
constexpr std::string_view kMetadataKey = "__metadata__";

struct DTypeRow {
  DType dtype;
  std::string_view name;
  size_t bytes;
};

constexpr std::array<DTypeRow, 10> kDTypes{{{DType::F64, "F64", 8},
                                            {DType::F32, "F32", 4},
                                            {DType::F16, "F16", 2},
                                            {DType::BF16, "BF16", 2},
                                            {DType::I64, "I64", 8},
                                            {DType::I32, "I32", 4},
                                            {DType::I16, "I16", 2},
                                            {DType::I8, "I8", 1},
                                            {DType::U8, "U8", 1},
                                            {DType::BOOL, "BOOL", 1}}};

const DTypeRow& row_of(DType dtype) {
  const auto* row = std::find_if(kDTypes.begin(), kDTypes.end(), [=](const DTypeRow& r) { return r.dtype == dtype; });
  TRIBUTARY_CHECK(row != kDTypes.end(), "no such type: {}", static_cast<int>(dtype));
  return *row;
}

std::string grouped(uint64_t value) {
  constexpr uint64_t kMax = std::numeric_limits<int64_t>::max();
  return value > kMax ? std::to_string(value) : thousands(static_cast<int64_t>(value));
}

// The size of a tensor in bytes; nullopt on overflow.
std::optional<uint64_t> byte_count(const std::vector<int64_t>& shape, DType dtype) {
  uint64_t product = size_of(dtype);
  for (const int64_t extent : shape)
    if (extent < 0 || __builtin_mul_overflow(product, static_cast<uint64_t>(extent), &product)) return std::nullopt;
  return product;
}

// A tensor's header entry before validation.
struct RawEntry {
  std::string name;
  std::optional<DType> dtype;
  std::optional<std::vector<uint64_t>> shape;
  std::optional<std::vector<uint64_t>> offsets;
};

// SAX parser of the header. Accepts nothing but the format's own structure, at most three levels deep, so that memory
// use is bounded by the header's size. Names must be unique at every level. `fault` describes the first error.
class HeaderReader final : public nlohmann::json_sax<nlohmann::json> {
 public:
  std::vector<RawEntry> raw_entries;
  SafetensorsMetadata metadata;
  std::string fault;

  bool start_object(size_t) override {
    if (depth_ == 0) return enter(Scope::kRoot);
    if (scope_ != Scope::kRoot) return stop("an unexpected object in {}", here());
    if (name_ == kMetadataKey) return enter(Scope::kMetadata);
    raw_entries.push_back({name_, {}, {}, {}});
    return enter(Scope::kTensor);
  }

  bool end_object() override {
    if (scope_ == Scope::kTensor) {
      const RawEntry& raw = raw_entries.back();
      if (!raw.dtype || !raw.shape || !raw.offsets) return stop("{} lacks dtype, shape or data_offsets", here());
    }
    return leave();
  }

  bool key(std::string& text) override {
    if (scope_ == Scope::kRoot) {
      if (!names_.insert(text).second) return stop("two entries are named \"{}\"", printable(text));
      name_ = text;
    } else if (scope_ == Scope::kMetadata) {
      if (metadata.contains(text)) return stop("the metadata holds \"{}\" twice", printable(text));
    } else {
      const RawEntry& raw = raw_entries.back();
      if (text != "dtype" && text != "shape" && text != "data_offsets")
        return stop("{} has an unknown field \"{}\"", here(), printable(text));
      const bool seen = text == "dtype"   ? raw.dtype.has_value()
                        : text == "shape" ? raw.shape.has_value()
                                          : raw.offsets.has_value();
      if (seen) return stop("{} has {} twice", here(), text);
    }
    field_ = text;
    return true;
  }

  bool string(std::string& text) override {
    if (scope_ == Scope::kMetadata) {
      metadata[field_] = text;
      return true;
    }
    if (scope_ != Scope::kTensor || field_ != "dtype") return stop("an unexpected string in {}", here());
    raw_entries.back().dtype = dtype_named(text);
    if (!raw_entries.back().dtype) return stop("{} has the unknown type \"{}\"", here(), printable(text));
    return true;
  }

  bool start_array(size_t) override {
    if (scope_ != Scope::kTensor || field_ == "dtype") return stop("an unexpected list in {}", here());
    numbers() = std::vector<uint64_t>();
    return enter(Scope::kNumbers);
  }

  bool end_array() override { return leave(); }

  bool number_unsigned(uint64_t value) override {
    if (scope_ != Scope::kNumbers) return stop("the unexpected number {} in {}", value, here());
    if (numbers()->size() >= (field_ == "shape" ? kMaxDimensions : 2))
      return stop("{} has more than {} numbers in {}", here(), numbers()->size(), field_);
    numbers()->push_back(value);
    return true;
  }

  bool number_integer(int64_t value) override { return stop("the negative number {} in {}", value, here()); }
  bool number_float(double, const std::string& text) override {
    return stop("the number {} in {}, which is not an integer in range", printable(text), here());
  }
  bool null() override { return stop("a null in {}", here()); }
  bool boolean(bool) override { return stop("a boolean in {}", here()); }
  bool binary(nlohmann::json::binary_t&) override { return stop("binary data in {}", here()); }
  bool parse_error(size_t at, const std::string&, const nlohmann::json::exception&) override {
    return stop("its header is not JSON at byte {}", grouped(at));
  }

 private:
  enum class Scope { kOutside, kRoot, kMetadata, kTensor, kNumbers };

  template <typename... Args>
  bool stop(fmt::format_string<Args...> format, Args&&... args) {
    if (fault.empty()) fault = fmt::format(format, std::forward<Args>(args)...);
    return false;
  }

  bool enter(Scope scope) {
    outer_[depth_++] = std::exchange(scope_, scope);
    return true;
  }

  bool leave() {
    scope_ = outer_[--depth_];
    return true;
  }

  std::optional<std::vector<uint64_t>>& numbers() {
    return field_ == "shape" ? raw_entries.back().shape : raw_entries.back().offsets;
  }

  std::string here() const {
    switch (scope_) {
      case Scope::kMetadata:
        return "the metadata";
      case Scope::kTensor:
      case Scope::kNumbers:
        return fmt::format("tensor \"{}\"", printable(name_));
      default:
        return "the header";
    }
  }

  Scope scope_ = Scope::kOutside;
  std::array<Scope, 3> outer_{};  // root, tensor or metadata, numbers: at most three levels
  size_t depth_ = 0;
  std::string name_;
  std::string field_;
  std::set<std::string> names_;
};

template <typename... Args>
[[noreturn]] void not_safetensors(const std::string& file, fmt::format_string<Args...> format, Args&&... args) {
  input_error("{} is not a safetensors file ({}); if it is truncated, download or export it again", file,
              fmt::format(format, std::forward<Args>(args)...));
}

// Validates the length of the header and returns its text.
std::span<const uint8_t> header_of(const std::vector<uint8_t>& bytes, const std::string& file) {
  if (bytes.size() < kLengthBytes)
    not_safetensors(file, "{} bytes, too few for a header length", grouped(bytes.size()));
  uint64_t length = 0;
  for (size_t i = 0; i < kLengthBytes; ++i) length |= static_cast<uint64_t>(bytes[i]) << (8 * i);
  if (length > bytes.size() - kLengthBytes)
    not_safetensors(file, "header length {} but the file has {} bytes", grouped(length), grouped(bytes.size()));
  if (length > kMaxHeaderBytes)
    not_safetensors(file, "header length {}, more than {}", grouped(length), grouped(kMaxHeaderBytes));
  const auto header = std::span(bytes).subspan(kLengthBytes, length);
  if (header.empty() || header.front() != '{') not_safetensors(file, "its header does not start with {{");
  // The JSON parser stops at a zero byte and would ignore the rest.
  if (std::memchr(header.data(), 0, header.size()) != nullptr) not_safetensors(file, "a zero byte in its header");
  return header;
}

// Validates an entry against the data after the header.
TensorEntry validated(const RawEntry& raw, std::span<const uint8_t> data, const std::string& file) {
  const std::string name = printable(raw.name);
  if (raw.offsets->size() != 2)
    not_safetensors(file, "tensor \"{}\" has {} data offsets instead of 2", name, raw.offsets->size());
  const uint64_t begin = raw.offsets->front();
  const uint64_t end = raw.offsets->back();
  if (begin > end || end > data.size())
    not_safetensors(file, "tensor \"{}\" lies at bytes {} to {} of {}", name, grouped(begin), grouped(end),
                    grouped(data.size()));
  TensorEntry entry{raw.name, *raw.dtype, {}, data.subspan(begin, end - begin)};
  for (const uint64_t extent : *raw.shape) {
    if (extent > static_cast<uint64_t>(std::numeric_limits<int64_t>::max()))
      not_safetensors(file, "tensor \"{}\" has an extent of {}", name, extent);
    entry.shape.push_back(static_cast<int64_t>(extent));
  }
  const std::optional<uint64_t> needed = byte_count(entry.shape, entry.dtype);
  if (needed != end - begin)
    not_safetensors(file, "tensor \"{}\" of {} [{}] has {} bytes", name, name_of(entry.dtype),
                    fmt::join(entry.shape, ", "), grouped(end - begin));
  return entry;
}

std::string quoted_json(const std::string& text, const std::string& path) {
  if (!is_utf8(text)) input_error("cannot write {}: \"{}\" is not UTF-8; rename it", path, printable(text));
  return json_text(nlohmann::json(text));
}

}  // namespace

size_t size_of(DType dtype) {
  return row_of(dtype).bytes;
}

std::string_view name_of(DType dtype) {
  return row_of(dtype).name;
}

std::optional<DType> dtype_named(std::string_view name) {
  for (const DTypeRow& row : kDTypes)
    if (row.name == name) return row.dtype;
  return std::nullopt;
}

SafetensorsFile SafetensorsFile::read(const std::string& path) {
  return parse(read_file(path), path);
}

SafetensorsFile SafetensorsFile::parse(std::vector<uint8_t> bytes, std::string name) {
  SafetensorsFile file;
  file.name_ = std::move(name);
  file.bytes_ = std::move(bytes);
  const std::span<const uint8_t> header = header_of(file.bytes_, file.name_);
  const std::span<const uint8_t> data = std::span(file.bytes_).subspan(kLengthBytes + header.size());

  HeaderReader reader;
  const bool valid = nlohmann::json::sax_parse(header.begin(), header.end(), &reader);
  if (!valid) not_safetensors(file.name_, "{}", reader.fault);
  for (const RawEntry& raw : reader.raw_entries) file.entries_.push_back(validated(raw, data, file.name_));
  file.metadata_ = std::move(reader.metadata);

  const auto range = [&](const TensorEntry& e) { return std::pair(e.data.data(), e.data.data() + e.data.size()); };
  std::stable_sort(file.entries_.begin(), file.entries_.end(),
                   [&](const TensorEntry& a, const TensorEntry& b) { return range(a) < range(b); });
  uint64_t covered = 0;
  for (const TensorEntry& entry : file.entries_) {
    const auto begin = static_cast<uint64_t>(entry.data.data() - data.data());
    if (begin != covered)
      not_safetensors(file.name_, "tensor \"{}\" starts at byte {} instead of {}", printable(entry.name),
                      grouped(begin), grouped(covered));
    covered += entry.data.size();
    file.index_.emplace(entry.name, file.index_.size());
  }
  if (covered != data.size())
    not_safetensors(file.name_, "its tensors end at byte {} of {}", grouped(covered), grouped(data.size()));
  return file;
}

const TensorEntry* SafetensorsFile::find(std::string_view tensor) const {
  const auto found = index_.find(tensor);
  return found == index_.end() ? nullptr : &entries_[found->second];
}

const TensorEntry& SafetensorsFile::at(std::string_view tensor) const {
  const TensorEntry* entry = find(tensor);
  if (entry == nullptr)
    input_error("{} has no tensor \"{}\"; use a file of the same kind of model", name_, printable(tensor));
  return *entry;
}

void write_safetensors(const std::string& path, std::span<const TensorEntry> entries,
                       const SafetensorsMetadata& metadata) {
  std::vector<const TensorEntry*> order;
  for (const TensorEntry& entry : entries) order.push_back(&entry);
  std::sort(order.begin(), order.end(), [](const TensorEntry* a, const TensorEntry* b) {
    const size_t left = size_of(a->dtype);
    const size_t right = size_of(b->dtype);
    return left != right ? left > right : a->name < b->name;
  });

  std::vector<std::string> items;
  if (!metadata.empty()) {
    std::vector<std::string> pairs;
    for (const auto& [key, value] : metadata) pairs.push_back(quoted_json(key, path) + ":" + quoted_json(value, path));
    items.push_back(fmt::format("\"{}\":{{{}}}", kMetadataKey, fmt::join(pairs, ",")));
  }
  std::vector<std::span<const uint8_t>> chunks(2);  // the length and the header, filled in below
  std::set<std::string_view> names;
  size_t offset = 0;
  for (const TensorEntry* entry : order) {
    TRIBUTARY_CHECK(entry->name != kMetadataKey, "{} is not a tensor's name", entry->name);
    TRIBUTARY_CHECK(names.insert(entry->name).second, "two tensors are named {}", entry->name);
    TRIBUTARY_CHECK(byte_count(entry->shape, entry->dtype) == entry->data.size(), "{} is {} [{}] but has {} bytes",
                    entry->name, name_of(entry->dtype), fmt::join(entry->shape, ", "), entry->data.size());
    items.push_back(fmt::format(R"({}:{{"dtype":"{}","shape":[{}],"data_offsets":[{},{}]}})",
                                quoted_json(entry->name, path), name_of(entry->dtype), fmt::join(entry->shape, ","),
                                offset, offset + entry->data.size()));
    offset += entry->data.size();
    chunks.push_back(entry->data);
  }
  std::string header = fmt::format("{{{}}}", fmt::join(items, ","));
  header.resize((header.size() + 7) / 8 * 8, ' ');
  if (header.size() > kMaxHeaderBytes)
    input_error("cannot write {}: a header of {} bytes is longer than {}; store fewer names", path,
                grouped(header.size()), grouped(kMaxHeaderBytes));
  std::array<uint8_t, kLengthBytes> length{};
  for (size_t i = 0; i < kLengthBytes; ++i) length[i] = static_cast<uint8_t>(header.size() >> (8 * i));
  chunks[0] = length;
  chunks[1] = bytes_of(header);
  write_file_atomically(path, chunks);
}

}  // namespace tributary
