#include "tributary/io/unpickler.h"

#include <algorithm>
#include <array>
#include <bit>
#include <optional>
#include <utility>

#include "tributary/base/error.h"
#include "tributary/base/text.h"

namespace tributary {
namespace {

constexpr size_t kMaxSteps = 2'000'000;
constexpr int kMaxDepth = 100;
constexpr size_t kMaxPickledDimensions = 64;

enum class Role {
  kOrderedDict,
  kRebuildTensor,
  kRebuildTensor2,
  kRebuildParameter,
  kParameter,
  kSize,
  kStorage,
  kDType
};

struct KnownName {
  std::string_view name;
  Role role;
  DType dtype = DType::F32;  // of a storage
};

// All names that a pickle may use. PyTorch before 0.4 uses _rebuild_tensor without "_v2" and calls Parameter directly.
constexpr std::array<KnownName, 26> kKnownNames{{{"collections.OrderedDict", Role::kOrderedDict},
                                                 {"torch._utils._rebuild_tensor", Role::kRebuildTensor},
                                                 {"torch._utils._rebuild_tensor_v2", Role::kRebuildTensor2},
                                                 {"torch._utils._rebuild_parameter", Role::kRebuildParameter},
                                                 {"torch.nn.parameter.Parameter", Role::kParameter},
                                                 {"torch.Size", Role::kSize},
                                                 {"torch.DoubleStorage", Role::kStorage, DType::F64},
                                                 {"torch.FloatStorage", Role::kStorage, DType::F32},
                                                 {"torch.HalfStorage", Role::kStorage, DType::F16},
                                                 {"torch.BFloat16Storage", Role::kStorage, DType::BF16},
                                                 {"torch.LongStorage", Role::kStorage, DType::I64},
                                                 {"torch.IntStorage", Role::kStorage, DType::I32},
                                                 {"torch.ShortStorage", Role::kStorage, DType::I16},
                                                 {"torch.CharStorage", Role::kStorage, DType::I8},
                                                 {"torch.ByteStorage", Role::kStorage, DType::U8},
                                                 {"torch.BoolStorage", Role::kStorage, DType::BOOL},
                                                 {"torch.float64", Role::kDType},
                                                 {"torch.float32", Role::kDType},
                                                 {"torch.float16", Role::kDType},
                                                 {"torch.bfloat16", Role::kDType},
                                                 {"torch.int64", Role::kDType},
                                                 {"torch.int32", Role::kDType},
                                                 {"torch.int16", Role::kDType},
                                                 {"torch.int8", Role::kDType},
                                                 {"torch.uint8", Role::kDType},
                                                 {"torch.bool", Role::kDType}}};

// Opcodes that are rejected: they create objects of any class (`runs`), or torch.save does not use them.
struct Refused {
  uint8_t code;
  std::string_view name;
  bool runs = false;
};
constexpr std::array<Refused, 18> kRefused{{{'o', "OBJ", true},
                                            {0x81, "NEWOBJ", true},
                                            {0x92, "NEWOBJ_EX", true},
                                            {0x82, "EXT1", true},
                                            {0x83, "EXT2", true},
                                            {0x84, "EXT4", true},
                                            {'P', "PERSID"},
                                            {0x97, "NEXT_BUFFER"},
                                            {0x98, "READONLY_BUFFER"},
                                            {0x8f, "EMPTY_SET"},
                                            {0x90, "ADDITEMS"},
                                            {0x91, "FROZENSET"},
                                            {'I', "INT"},
                                            {'L', "LONG"},
                                            {'F', "FLOAT"},
                                            {'S', "STRING"},
                                            {'V', "UNICODE"},
                                            {'g', "GET"}}};

}  // namespace

// The stack machine. Not in an unnamed namespace because it is a friend of Pickle.
class Unpickler {
 public:
  Unpickler(std::span<const uint8_t> bytes, const std::string& file) : bytes_(bytes), file_(file) {}

  Pickle run() {
    none_ = make(PickleKind::kNone);
    for (int64_t truth : {0, 1}) (truth != 0 ? true_ : false_) = make(PickleKind::kBool, truth);
    if (bytes_.size() < 2 || bytes_[0] != 0x80) damaged("it does not start with a protocol");
    while (pickle_.root_ == nullptr) {
      charge(1);
      step(static_cast<uint8_t>(number(1)));
    }
    pickle_.size_ = at_;
    return std::move(pickle_);
  }

 private:
  using Value = PickleValue;
  using Kind = PickleKind;
  using Items = std::vector<const Value*>;

  template <typename... Args>
  [[noreturn]] void damaged(fmt::format_string<Args...> format, Args&&... args) const {
    input_error("{}: damaged pickle ({} at byte {}); if the file is truncated, download or save it again", file_,
                fmt::format(format, std::forward<Args>(args)...), at_);
  }

  [[noreturn]] void refuse(std::string_view request) const {
    input_error("{}: the pickle {}, which is code; save tensors and containers only", file_, request);
  }

  // Limits memory and time by counting steps.
  void charge(size_t steps) {
    steps_ += steps;
    if (steps_ > kMaxSteps) damaged("more than {} instructions", kMaxSteps);
  }

  std::span<const uint8_t> take(uint64_t length) {
    if (length > bytes_.size() - at_) damaged("{} bytes wanted, {} left", length, bytes_.size() - at_);
    at_ += length;
    return bytes_.subspan(at_ - length, length);
  }

  uint64_t number(size_t length) {
    uint64_t value = 0;
    size_t shift = 0;
    for (const uint8_t byte : take(length)) value |= static_cast<uint64_t>(byte) << (8 * shift++);
    return value;
  }

  // Two's complement of up to eight bytes.
  int64_t integer(uint64_t length) {
    if (length > 8) damaged("an integer of {} bytes", length);
    if (length == 0) return 0;
    const size_t unused = 64 - 8 * length;
    return static_cast<int64_t>(number(length) << unused) >> unused;
  }

  std::string_view text(uint64_t length) {
    const std::span<const uint8_t> part = take(length);
    return {reinterpret_cast<const char*>(part.data()), part.size()};
  }

  std::string_view line() {
    const auto rest = bytes_.subspan(at_);
    const auto end = std::find(rest.begin(), rest.end(), '\n');
    if (end == rest.end()) damaged("an unterminated name");
    const std::string_view name = text(static_cast<uint64_t>(end - rest.begin()));
    take(1);
    return name;
  }

  Value* make(Kind kind, int64_t value = 0) {
    Value& made = pickle_.values_.emplace_back();
    made.kind = kind;
    made.integer = value;
    return &made;
  }

  void push(Value* value) { stack_.push_back(value); }
  void push_text(Kind kind, std::string_view content) {
    push(make(kind));
    stack_.back()->text = content;
  }

  Value* top() const {
    if (stack_.size() <= (marks_.empty() ? 0 : marks_.back())) damaged("nothing on the stack");
    return stack_.back();
  }
  Value* pop() {
    Value* value = top();
    stack_.pop_back();
    return value;
  }
  Items pop_marked() {
    if (marks_.empty()) damaged("no mark on the stack");
    const auto begin = stack_.begin() + static_cast<ptrdiff_t>(marks_.back());
    Items items(begin, stack_.end());
    stack_.erase(begin, stack_.end());
    marks_.pop_back();
    return items;
  }

  void deepen(Value& container, const Value& item) const {
    if (item.depth >= kMaxDepth) damaged("containers nested more than {} deep", kMaxDepth);
    container.depth = std::max(container.depth, static_cast<uint16_t>(item.depth + 1));
  }
  void add(Value& container, Kind kind, const Items& items) const {
    if (!container.is(kind)) damaged("items for {}, which should be {}", name_of(container.kind), name_of(kind));
    if (kind == Kind::kDict && items.size() % 2 != 0) damaged("a key without a value");
    for (const Value* item : items) deepen(container, *item);
    container.items.insert(container.items.end(), items.begin(), items.end());
  }
  void push_container(Kind kind, const Items& items) {
    push(make(kind));
    add(*stack_.back(), kind, items);
  }
  void push_tuple(size_t length) {
    Items items(length);
    for (size_t i = length; i-- > 0;) items[i] = pop();
    push_container(Kind::kTuple, items);
  }

  void remember(uint64_t index) {
    if (index >= std::min(bytes_.size(), kMaxSteps)) damaged("memo index {}", index);
    if (index >= memo_.size()) memo_.resize(index + 1);
    if (memo_[index] == nullptr) ++remembered_;
    memo_[index] = top();
  }
  void recall(uint64_t index) {
    if (index >= memo_.size() || memo_[index] == nullptr) damaged("memo {} is not set", index);
    push(memo_[index]);
  }

  void push_name(std::string_view module, std::string_view name) {
    const std::string full = fmt::format("{}.{}", module.substr(0, 200), name.substr(0, 200));
    const auto* known =
        std::find_if(kKnownNames.begin(), kKnownNames.end(), [&](const KnownName& n) { return n.name == full; });
    if (known == kKnownNames.end()) refuse("asks for " + printable(full));
    push(make(Kind::kName, known - kKnownNames.begin()));
    stack_.back()->text = known->name;
  }

  // The known name of a value of kind kName, else null.
  static const KnownName* known(const Value& value) {
    return value.is(Kind::kName) ? &kKnownNames[static_cast<size_t>(value.integer)] : nullptr;
  }

  std::vector<int64_t> integers(const Value& tuple) {
    std::vector<int64_t> numbers;
    if (!tuple.is(Kind::kTuple) || tuple.items.size() > kMaxPickledDimensions) damaged("an invalid shape");
    charge(tuple.items.size());
    for (const Value* item : tuple.items) {
      if (!item->is(Kind::kInt)) damaged("{} in a shape", name_of(item->kind));
      numbers.push_back(item->integer);
    }
    return numbers;
  }

  Value* rebuild_tensor(const Items& arguments) {
    if (!arguments[0]->is(Kind::kStorage) || !arguments[1]->is(Kind::kInt)) damaged("a tensor without a storage");
    PickledTensor& tensor = pickle_.tensors_.emplace_back();
    tensor.storage = arguments[0]->storage;
    tensor.offset = arguments[1]->integer;
    tensor.shape = integers(*arguments[2]);
    tensor.strides = integers(*arguments[3]);
    if (tensor.shape.size() != tensor.strides.size())
      damaged("{} extents with {} strides", tensor.shape.size(), tensor.strides.size());
    Value* value = make(Kind::kTensor);
    value->tensor = &tensor;
    return value;
  }

  // OrderedDict(), or Python 2's OrderedDict([[key, value], ...]).
  Value* ordered_dict(const Items& arguments) {
    Value* dict = make(Kind::kDict);
    if (arguments.empty()) return dict;
    const auto is_list = [](const Value& v) { return v.is(Kind::kList) || v.is(Kind::kTuple); };
    if (!is_list(*arguments[0])) damaged("an OrderedDict of {}", name_of(arguments[0]->kind));
    charge(arguments[0]->items.size());
    for (const Value* pair : arguments[0]->items) {
      if (!is_list(*pair) || pair->items.size() != 2) damaged("an OrderedDict of items that are not pairs");
      add(*dict, Kind::kDict, pair->items);
    }
    return dict;
  }

  Value* call(const Value& function, Value& arguments) {
    const KnownName* name = known(function);
    if (name == nullptr) damaged("a call of {}", name_of(function.kind));
    if (!arguments.is(Kind::kTuple)) damaged("{} called with {}", name->name, name_of(arguments.kind));
    const Items& items = arguments.items;
    const auto expect = [&](size_t least, size_t most) {
      if (items.size() < least || items.size() > most) damaged("{} called with {} values", name->name, items.size());
    };
    switch (name->role) {
      case Role::kOrderedDict:
        expect(0, 1);
        return ordered_dict(items);
      case Role::kRebuildTensor:
        expect(4, 4);
        return rebuild_tensor(items);
      case Role::kRebuildTensor2:
        expect(6, 7);
        return rebuild_tensor(items);
      case Role::kRebuildParameter:
      case Role::kParameter:
        expect(1, 3);
        if (!items[0]->is(Kind::kTensor)) damaged("a parameter that is {}", name_of(items[0]->kind));
        return const_cast<Value*>(items[0]);  // owned by `pickle_`; const only for users of the result
      case Role::kSize:
        expect(1, 1);
        if (!items[0]->is(Kind::kTuple)) damaged("a size that is {}", name_of(items[0]->kind));
        return const_cast<Value*>(items[0]);
      default:
        damaged("a call of {}", name->name);
    }
  }

  // ("storage", type, key, device, count), in old files followed by a view: None or (key, first, length).
  Value* persistent(const Value& id) {
    const Items& items = id.items;
    if (!id.is(Kind::kTuple) || items.size() < 5 || items.size() > 6 || !items[0]->is(Kind::kText) ||
        items[0]->text != "storage")
      damaged("a persistent ID that is not a storage");
    const KnownName* type = known(*items[1]);
    if (type == nullptr || type->role != Role::kStorage || !items[2]->is(Kind::kText) || !items[4]->is(Kind::kInt))
      damaged("a storage without type, key or count");
    PickledStorage storage{type->dtype, items[2]->text, items[4]->integer, 0, items[4]->integer};
    if (storage.count < 0) damaged("a storage of {} elements", storage.count);
    if (items.size() == 6 && !items[5]->is(Kind::kNone)) {
      const Items& view = items[5]->items;
      if (!items[5]->is(Kind::kTuple) || view.size() != 3 || !view[1]->is(Kind::kInt) || !view[2]->is(Kind::kInt))
        damaged("an invalid view of a storage");
      storage.first = view[1]->integer;
      storage.length = view[2]->integer;
      if (storage.first < 0 || storage.first > storage.count || storage.length < 0 ||
          storage.length > storage.count - storage.first)
        damaged("a view of {} elements from {} in a storage of {}", storage.length, storage.first, storage.count);
    }
    Value* value = make(Kind::kStorage);
    value->storage = &pickle_.storages_.emplace_back(storage);
    return value;
  }

  void step(uint8_t code);
  [[noreturn]] void refuse_instruction(uint8_t code);

  std::span<const uint8_t> bytes_;
  const std::string& file_;
  size_t at_ = 0;
  size_t steps_ = 0;
  size_t remembered_ = 0;
  Pickle pickle_;
  std::vector<Value*> stack_;
  std::vector<size_t> marks_;  // heights of the stack
  std::vector<Value*> memo_;
  Value* none_ = nullptr;
  Value* true_ = nullptr;
  Value* false_ = nullptr;
};

void Unpickler::step(uint8_t code) {
  switch (code) {
    case 0x80:  // PROTO
      if (const uint64_t protocol = number(1); protocol < 2 || protocol > 5) damaged("protocol {}", protocol);
      return;
    case 0x95:  // FRAME: a hint for buffered reading
      if (const uint64_t length = number(8); length > bytes_.size() - at_) damaged("a frame of {} bytes", length);
      return;
    case '.':  // STOP
      pickle_.root_ = pop();
      if (!stack_.empty() || !marks_.empty()) damaged("{} values left over", stack_.size());
      return;
    case '(':  // MARK
      return marks_.push_back(stack_.size());
    case '0':  // POP, also of a mark
      if (!marks_.empty() && marks_.back() == stack_.size()) return marks_.pop_back();
      pop();
      return;
    case '1':  // POP_MARK
      pop_marked();
      return;
    case '2':  // DUP
      return push(top());

    case 'N':
      return push(none_);
    case 0x88:
      return push(true_);
    case 0x89:
      return push(false_);
    case 'J':  // BININT
      return push(make(Kind::kInt, integer(4)));
    case 'K':  // BININT1
      return push(make(Kind::kInt, static_cast<int64_t>(number(1))));
    case 'M':  // BININT2
      return push(make(Kind::kInt, static_cast<int64_t>(number(2))));
    case 0x8a:  // LONG1
      return push(make(Kind::kInt, integer(number(1))));
    case 0x8b:  // LONG4
      return push(make(Kind::kInt, integer(number(4))));
    case 'G': {  // BINFLOAT, the only big-endian number
      push(make(Kind::kFloat));
      stack_.back()->real = std::bit_cast<double>(__builtin_bswap64(number(8)));
      return;
    }

    case 0x8c:  // SHORT_BINUNICODE
    case 'U':   // SHORT_BINSTRING: a Python 2 string
      return push_text(Kind::kText, text(number(1)));
    case 'X':  // BINUNICODE
    case 'T':  // BINSTRING
      return push_text(Kind::kText, text(number(4)));
    case 0x8d:  // BINUNICODE8
      return push_text(Kind::kText, text(number(8)));
    case 'C':  // SHORT_BINBYTES
      return push_text(Kind::kBytes, text(number(1)));
    case 'B':  // BINBYTES
      return push_text(Kind::kBytes, text(number(4)));
    case 0x8e:  // BINBYTES8
    case 0x96:  // BYTEARRAY8
      return push_text(Kind::kBytes, text(number(8)));

    case ')':
      return push_tuple(0);
    case 0x85:
    case 0x86:
    case 0x87:
      return push_tuple(code - 0x84U);
    case 't':
      return push_container(Kind::kTuple, pop_marked());
    case ']':
      return push(make(Kind::kList));
    case 'l':
      return push_container(Kind::kList, pop_marked());
    case '}':
      return push(make(Kind::kDict));
    case 'd':
      return push_container(Kind::kDict, pop_marked());
    case 'a': {  // APPEND
      const Value* item = pop();
      return add(*top(), Kind::kList, {item});
    }
    case 'e': {  // APPENDS
      const Items items = pop_marked();
      return add(*top(), Kind::kList, items);
    }
    case 's': {  // SETITEM
      const Value* value = pop();
      const Value* key = pop();
      return add(*top(), Kind::kDict, {key, value});
    }
    case 'u': {  // SETITEMS
      const Items items = pop_marked();
      return add(*top(), Kind::kDict, items);
    }

    case 'q':  // BINPUT
      return remember(number(1));
    case 'r':  // LONG_BINPUT
      return remember(number(4));
    case 0x94:  // MEMOIZE
      return remember(remembered_);
    case 'h':  // BINGET
      return recall(number(1));
    case 'j':  // LONG_BINGET
      return recall(number(4));

    case 'c': {  // GLOBAL
      const std::string_view module = line();
      return push_name(module, line());
    }
    case 0x93: {  // STACK_GLOBAL
      const Value* name = pop();
      const Value* module = pop();
      if (!name->is(Kind::kText) || !module->is(Kind::kText)) damaged("a name that is {}", name_of(name->kind));
      return push_name(module->text, name->text);
    }
    case 'R': {  // REDUCE
      Value* arguments = pop();
      const Value* function = pop();
      return push(call(*function, *arguments));
    }
    case 'b':  // BUILD: attributes of a dictionary (_metadata) or tensor (hooks), which are ignored
      pop();
      if (!top()->is(Kind::kDict) && !top()->is(Kind::kTensor)) damaged("attributes for {}", name_of(top()->kind));
      return;
    case 'Q':  // BINPERSID
      return push(persistent(*pop()));
    default:
      refuse_instruction(code);
  }
}

void Unpickler::refuse_instruction(uint8_t code) {
  if (code == 'i') {  // INST includes its name
    const std::string_view module = line();
    const std::string_view name = line();
    refuse("asks for " + printable(fmt::format("{}.{}", module.substr(0, 200), name.substr(0, 200))));
  }
  const auto* found = std::find_if(kRefused.begin(), kRefused.end(), [=](const Refused& r) { return r.code == code; });
  if (found == kRefused.end()) damaged("the unknown instruction {:#04x}", code);
  if (!found->runs) damaged("the instruction {}, which torch.save does not write,", found->name);
  refuse(fmt::format("uses the instruction {}", found->name));
}

std::string_view name_of(PickleKind kind) {
  constexpr std::array<std::string_view, 12> kNames{"None",         "a boolean", "an integer", "a float",
                                                    "a string",     "bytes",     "a tuple",    "a list",
                                                    "a dictionary", "a name",    "a storage",  "a tensor"};
  return kNames[static_cast<size_t>(kind)];
}

const PickleValue* PickleValue::find(std::string_view key) const {
  for (size_t i = 0; kind == PickleKind::kDict && i + 1 < items.size(); i += 2)
    if (items[i]->is(PickleKind::kText) && items[i]->text == key) return items[i + 1];
  return nullptr;
}

Pickle Pickle::read(std::span<const uint8_t> bytes, const std::string& file) {
  return Unpickler(bytes, file).run();
}

}  // namespace tributary
