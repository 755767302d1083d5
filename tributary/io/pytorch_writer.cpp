#include "tributary/io/pytorch_writer.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "tributary/base/error.h"
#include "tributary/base/files.h"
#include "tributary/base/little_endian.h"
#include "tributary/base/text.h"
#include "tributary/io/zip_writer.h"

namespace tributary {
namespace {

constexpr std::string_view kFolder = "archive";  // PyTorch's default if it knows no file name

// Opcodes of pickle protocol 2, the only one that weights_only accepts.
std::string pickled(std::string_view text) {
  return fmt::format("X{}{}", little_endian(text.size(), 4), text);
}

std::string pickled(int64_t number) {  // not negative
  const auto value = static_cast<uint64_t>(number);
  if (value <= 0xff) return "K" + little_endian(value, 1);
  if (value <= 0xffff) return "M" + little_endian(value, 2);
  if (value <= 0x7fffffff) return "J" + little_endian(value, 4);
  return "\x8a\x08" + little_endian(value, 8);
}

std::string pickled(const std::vector<int64_t>& numbers) {
  std::string items = "(";
  for (const int64_t number : numbers) items += pickled(number);
  return items + "t";
}

constexpr std::string_view kEmptyDict = "ccollections\nOrderedDict\n)R";

std::string_view storage_of(DType dtype) {
  constexpr std::pair<DType, std::string_view> kStorages[] = {
      {DType::F64, "DoubleStorage"},    {DType::F32, "FloatStorage"}, {DType::F16, "HalfStorage"},
      {DType::BF16, "BFloat16Storage"}, {DType::I64, "LongStorage"},  {DType::I32, "IntStorage"},
      {DType::I16, "ShortStorage"},     {DType::I8, "CharStorage"},   {DType::U8, "ByteStorage"},
      {DType::BOOL, "BoolStorage"}};
  for (const auto& [type, name] : kStorages)
    if (type == dtype) return name;
  TRIBUTARY_CHECK(false, "no such type: {}", static_cast<int>(dtype));
}

// Calls _rebuild_tensor_v2(storage, offset, shape, strides, requires_grad=False, backward_hooks={}).
std::string pickled_tensor(const TensorEntry& entry, const std::string& key) {
  const int64_t count = static_cast<int64_t>(entry.data.size() / size_of(entry.dtype));
  std::vector<int64_t> strides(entry.shape.size());
  int64_t stride = 1;  // PyTorch treats an extent of 0 like 1 for strides
  bool empty = false;
  for (size_t d = strides.size(); d-- > 0;) {
    strides[d] = stride;
    empty = empty || entry.shape[d] == 0;
    TRIBUTARY_CHECK(
        entry.shape[d] >= 0 && !__builtin_mul_overflow(stride, std::max<int64_t>(entry.shape[d], 1), &stride),
        "{} has the shape [{}]", entry.name, fmt::join(entry.shape, ", "));
  }
  TRIBUTARY_CHECK(count == (empty ? 0 : stride) && entry.data.size() % size_of(entry.dtype) == 0,
                  "{} is {} [{}] but has {} bytes", entry.name, name_of(entry.dtype), fmt::join(entry.shape, ", "),
                  entry.data.size());
  const std::string storage = fmt::format("({}ctorch\n{}\n{}{}{}tQ", pickled("storage"), storage_of(entry.dtype),
                                          pickled(key), pickled("cpu"), pickled(count));
  return "ctorch._utils\n_rebuild_tensor_v2\n(" + storage + pickled(int64_t{0}) + pickled(entry.shape) +
         pickled(strides) + "\x89" + std::string(kEmptyDict) + "tR";
}

}  // namespace

void write_state_dict(const std::string& path, std::span<const TensorEntry> entries) {
  std::string pickle = "\x80\x02" + std::string(kEmptyDict) + "(";
  std::set<std::string_view> names;
  for (size_t i = 0; i < entries.size(); ++i) {
    const std::string& name = entries[i].name;
    TRIBUTARY_CHECK(names.insert(name).second, "two tensors are named {}", name);
    if (!is_utf8(name)) input_error("cannot write {}: \"{}\" is not UTF-8; rename it", path, printable(name));
    pickle += pickled(name) + pickled_tensor(entries[i], std::to_string(i));
  }
  pickle += "u.";

  ZipWriter zip(std::string(kFolder) + "/");
  zip.add("data.pkl", bytes_of(pickle));
  zip.add("byteorder", bytes_of("little"));
  for (size_t i = 0; i < entries.size(); ++i) zip.add(fmt::format("data/{}", i), entries[i].data);
  zip.add("version", bytes_of("3\n"));
  write_file_atomically(path, zip.finish());
}

}  // namespace tributary
