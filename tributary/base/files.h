// Whole files in and out, so that a reader never sees half of one.
//
// A file is written beside its place and renamed into it: killed at any moment, the program leaves either the old
// content or the new. A path comes from the user, so what is wrong with it is an InputError; a disk that fills up or
// fails while we write is a WorkError.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tributary {

std::vector<uint8_t> read_file(const std::string& path);
std::string read_text(const std::string& path);

inline std::span<const uint8_t> bytes_of(std::string_view text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

// Temporary file beside, write, fsync, rename, fsync of the folder, which must exist. A symbolic link stays and its
// target is replaced; permissions of a replaced file are kept. Devices and pipes (/dev/stdout) are written directly.
void write_file_atomically(const std::string& path, std::span<const uint8_t> bytes);
void write_file_atomically(const std::string& path, std::string_view text);

// The same for content that lies in several places: the pieces are written one after the other without being joined.
void write_file_atomically(const std::string& path, std::span<const std::span<const uint8_t>> micro_batches);

// A file that grows piece by piece beside its place and appears there whole. One that was never placed leaves nothing.
class PendingFile {
 public:
  explicit PendingFile(const std::string& path);  // its folder must exist
  PendingFile(PendingFile&& other) noexcept;
  PendingFile(const PendingFile&) = delete;
  PendingFile& operator=(const PendingFile&) = delete;
  ~PendingFile();

  void append(std::span<const uint8_t> bytes);
  // Everything is on the disk, and no descriptor is held any more.
  void finish();
  // Finishes it and puts it in its place, also after a power cut.
  void place();

 private:
  friend void write_file_atomically(const std::string& path, std::span<const std::span<const uint8_t>> micro_batches);

  std::string path_, temporary_;  // the temporary name is empty where there is nothing to remove
  int descriptor_ = -1;
};

// Where this process writes in the folder what is not in its place yet. `what` tells its files apart; the name is short
// whatever the final one, which may be as long as the system allows.
std::string temporary_path(const std::string& folder, std::string_view what);
// Whether a name is the last part of such a path, of whichever process.
bool is_temporary_name(std::string_view name);

// Whether `path` names a regular file; false if it cannot be examined.
bool is_regular_file_at(const std::string& path);

// Removes what processes that were killed while they wrote left in the folder.
void remove_leftovers(const std::string& folder);

// Removes a folder with everything in it, if it is there.
void remove_folder(const std::string& path);

// Makes the folder and those above it; one that is already there is fine.
void make_folder(const std::string& path);

// Finds out before hours of work whether a file or folder could be made (or replaced) at `path`, and leaves nothing
// behind. Missing folders above are fine as long as they could be made.
void require_writable_target(const std::string& path);
// The same for a file, which a folder of that name is not.
void require_writable_file(const std::string& path);

}  // namespace tributary
