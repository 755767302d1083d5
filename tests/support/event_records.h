// Reads TensorBoard's event files, independently of the code that writes them.
#pragma once

#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tributary::test {

struct EventRecord {
  double wall_time = 0;
  int64_t step = 0;
  std::string version;  // of the file
  bool is_start = false;
  std::string tag;
  float value = 0;
};

// The masked CRC-32C of a record, computed bit by bit.
inline uint32_t record_checksum(std::string_view bytes) {
  uint32_t rest = ~0u;
  for (const char byte : bytes) {
    rest ^= static_cast<uint8_t>(byte);
    for (int bit = 0; bit < 8; ++bit) rest = rest % 2 == 1 ? rest / 2 ^ 0x82f63b78u : rest / 2;
  }
  rest = ~rest;
  return (rest >> 15 | rest << 17) + 0xa282ead8u;
}

// Reads bytes from the front; throws if there are too few.
class EventBytes {
 public:
  explicit EventBytes(std::string_view rest) : rest_(rest) {}
  bool empty() const { return rest_.empty(); }

  std::string_view take(uint64_t count) {
    if (count > rest_.size()) throw std::runtime_error("unexpected end of the bytes");
    const std::string_view taken = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return taken;
  }
  uint64_t fixed(uint64_t count) {
    uint64_t value = 0, shift = 0;
    for (const char byte : take(count))
      value |= uint64_t{static_cast<uint8_t>(byte)} << std::exchange(shift, shift + 8);
    return value;
  }
  uint64_t varint() {
    for (uint64_t value = 0, shift = 0;; shift += 7) {
      const uint64_t byte = fixed(1);
      value |= (byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
  }
  std::string_view sized() { return take(varint()); }

 private:
  std::string_view rest_;
};

inline void read_value(EventBytes bytes, EventRecord& record) {
  while (!bytes.empty()) {
    const uint64_t key = bytes.varint();
    if (key == (1 << 3 | 2)) {
      record.tag = bytes.sized();
    } else if (key == (2 << 3 | 5)) {
      record.value = std::bit_cast<float>(static_cast<uint32_t>(bytes.fixed(4)));
    } else {
      throw std::runtime_error("unexpected field of a value");
    }
  }
}

inline EventRecord read_event(EventBytes bytes) {
  EventRecord record;
  while (!bytes.empty()) {
    const uint64_t key = bytes.varint();
    if (key == (1 << 3 | 1)) {
      record.wall_time = std::bit_cast<double>(bytes.fixed(8));
    } else if (key == (2 << 3 | 0)) {
      record.step = static_cast<int64_t>(bytes.varint());
    } else if (key == (3 << 3 | 2)) {
      record.version = bytes.sized();
    } else if (key == (5 << 3 | 2)) {
      EventBytes summary(bytes.sized());
      EXPECT_EQ(summary.varint(), 1 << 3 | 2);
      read_value(EventBytes(summary.sized()), record);
      EXPECT_TRUE(summary.empty());
    } else if (key == (7 << 3 | 2)) {
      record.is_start = bytes.sized() == "\x08\x01";
    } else {
      throw std::runtime_error("unexpected field of an event");
    }
  }
  return record;
}

// The complete records of a file. Wrong checksums fail the test.
inline std::vector<EventRecord> read_events(std::string_view content) {
  std::vector<EventRecord> records;
  while (content.size() >= 16) {
    EventBytes bytes(content);
    const std::string_view length = bytes.take(8);
    EXPECT_EQ(bytes.fixed(4), record_checksum(length));
    const uint64_t size = EventBytes(length).fixed(8);
    if (size > content.size() - 16) break;
    const std::string_view event = bytes.take(size);
    EXPECT_EQ(bytes.fixed(4), record_checksum(event));
    records.push_back(read_event(EventBytes(event)));
    content.remove_prefix(16 + size);
  }
  return records;
}

}  // namespace tributary::test
