#include "tributary/artefacts/event_file.h"

#include <unistd.h>

#include <array>
#include <bit>
#include <cerrno>
#include <system_error>

#include "tributary/base/crc32c.h"
#include "tributary/base/error.h"
#include "tributary/base/little_endian.h"
#include "tributary/base/protobuf.h"
#include "tributary/base/text.h"

namespace tributary {
namespace {

using Message = ProtobufMessage;

// Field numbers of event.proto and summary.proto, by message.
enum EventField { kWallTime = 1, kStep = 2, kFileVersion = 3, kSummary = 5, kSessionLog = 7 };
enum SummaryField { kSummaryValue = 1 };
enum ValueField { kValueTag = 1, kValueSimple = 2 };
enum SessionField { kSessionStatus = 1 };
enum SessionStatus { kSessionStart = 1 };

std::string reason(int error) {
  return std::error_code(error, std::generic_category()).message();
}

std::string host() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 && name[0] != '\0' ? name.data() : "localhost";
}

// A masked checksum as in TFRecord, robust for data that contains checksums itself.
std::string checksum(std::string_view bytes) {
  return little_endian(std::rotr(crc32c(bytes), 15) + 0xa282ead8u, 4);
}

}  // namespace

EventFile::EventFile(const std::string& folder, double wall_time)
    : path_(fmt::format("{}/events.out.tfevents.{:010}.{}", folder, static_cast<int64_t>(wall_time), host())),
      file_(std::fopen(path_.c_str(), "wb")) {
  if (!file_) work_error("cannot create {}: {}; check its folder", path_, reason(errno));
  append(Message().real(kWallTime, wall_time).text(kFileVersion, "brain.Event:2").take());
  // Tells readers to drop earlier events from this step on.
  const Message start = Message().integer(kSessionStatus, kSessionStart);
  append(Message().real(kWallTime, wall_time).integer(kStep, 0).message(kSessionLog, start).take());
}

void EventFile::scalar(const std::string& tag, int64_t step, double value, double wall_time) {
  TRIBUTARY_CHECK(!tag.empty(), "empty tag");
  const std::string name = is_utf8(tag) ? tag : printable(tag, static_cast<int64_t>(tag.size()));
  const Message point = Message().text(kValueTag, name).real(kValueSimple, static_cast<float>(value));
  const Message summary = Message().message(kSummaryValue, point);
  append(Message().real(kWallTime, wall_time).integer(kStep, step).message(kSummary, summary).take());
}

void EventFile::append(const std::string& event) {
  const std::string length = little_endian(event.size(), 8);
  const std::string record = length + checksum(length) + event + checksum(event);
  if (std::fwrite(record.data(), 1, record.size(), file_.get()) != record.size() || std::fflush(file_.get()) != 0)
    work_error("cannot write {}: {}; free some space and run the same command again", path_, reason(errno));
}

}  // namespace tributary
