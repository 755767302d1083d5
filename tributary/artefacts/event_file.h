// An event file, which TensorBoard shows as curves: tensorboard --logdir FOLDER.
//
// The file is a list of records, each with its length and two checksums; a record is one protobuf message. We need
// eight field numbers of it, so it is written by hand. Records go to the file one by one as they come: killed at any
// moment, the program leaves whole records and at most a part of the last one, which readers pass over.
#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>

namespace tributary {

class EventFile {
 public:
  // Begins events.out.tfevents.SECONDS.HOST in `folder`, which must exist. Older event files there stay, but readers
  // drop their curves: they are those of an interrupted run that is begun anew. Times are seconds since 1970. A
  // WorkError here and below where the file cannot be written.
  EventFile(const std::string& folder, double wall_time);

  // Appends one point to the curve `tag`; slashes in it make groups. Values are kept as floats, NaN and infinities
  // included, and larger ones become infinite. Bytes of a tag that are not UTF-8 become "?".
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
