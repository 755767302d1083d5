// Writes event files for TensorBoard: tensorboard --logdir FOLDER.
//
// The file is a list of records (TFRecord) with length and two checksums; each record is a protobuf message, of which
// we need eight field numbers. Records are flushed one by one: a killed process leaves complete records and at most a
// partial last one, which readers ignore.
#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>

namespace tributary {

class EventFile {
 public:
  // Creates events.out.tfevents.SECONDS.HOST in `folder`, which must exist. Older event files are kept, but readers
  // drop their curves, which belong to an interrupted run that was restarted. Times are seconds since 1970. Throws a
  // WorkError if the file cannot be written, as does `scalar`.
  EventFile(const std::string& folder, double wall_time);

  // Appends a point to the curve `tag`; slashes form groups. Values are stored as floats, including NaN and infinities;
  // larger ones become infinite. Invalid UTF-8 in a tag becomes "?".
  void scalar(const std::string& tag, int64_t step, double value, double wall_time);

  const std::string& path() const { return path_; }

 private:
  void append(const std::string& event);

  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };

  std::string path_;
  std::unique_ptr<std::FILE, Close> file_;
};

}  // namespace tributary
