// Reads whole files and writes them atomically.
//
// Writers use a temporary file in the same folder and rename it. A process killed at any moment leaves the old content
// or the new, never half of it. Bad paths come from the user and are InputErrors; full or failing disks are WorkErrors.
#pragma once

#include <cstdint>
#include <fstream>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tributary {

// Only regular files: a FIFO or a device in the place of a file is an error, never a wait.
std::vector<uint8_t> read_file(const std::string& path);
std::string read_text(const std::string& path);
// Throws an InputError if the file is larger than that: parsed JSON takes some twenty times the memory of its text.
std::string read_text(const std::string& path, int64_t most_bytes);

// Opens a file for reading in parts. The stream has failed if the path does not name a regular file that can be read.
std::ifstream open_regular(const std::string& path);

inline std::span<const uint8_t> bytes_of(std::string_view text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

// Writes a temporary file, fsyncs it, renames it and fsyncs the folder, which must exist. Symbolic links are kept and
// their targets replaced; permissions of a replaced file are kept. Devices and pipes (/dev/stdout) are written
// directly.
void write_file_atomically(const std::string& path, std::span<const uint8_t> bytes);
void write_file_atomically(const std::string& path, std::string_view text);

// Writes the chunks one after the other, without joining them in memory.
void write_file_atomically(const std::string& path, std::span<const std::span<const uint8_t>> chunks);

// A file that is appended to under a temporary name and appears at its path when it is committed. The destructor
// removes the temporary file if `commit` was not called.
class PendingFile {
 public:
  explicit PendingFile(const std::string& path);  // the folder must exist
  PendingFile(PendingFile&& other) noexcept;
  PendingFile(const PendingFile&) = delete;
  PendingFile& operator=(const PendingFile&) = delete;
  ~PendingFile();

  void append(std::span<const uint8_t> bytes);
  // Fsyncs the temporary file, after which nothing is appended.
  void finish();
  // Finishes the file and renames it to its path. Durable across a power cut.
  void commit();

 private:
  friend void write_file_atomically(const std::string& path, std::span<const std::span<const uint8_t>> chunks);

  std::string path_, temporary_;  // `temporary_` is empty if there is nothing to remove
  int descriptor_ = -1;
  bool finished_ = false;
};

// Makes and locks a temporary folder in `folder`, which is made with its parents. Returns the descriptor that holds the
// lock, and the path.
int make_temporary_folder(const std::string& folder, std::string& path);
// Whether `name` is the file name of a temporary file or folder of any process.
bool is_temporary_name(std::string_view name);

// Whether `path` names a regular file; false if it cannot be examined.
bool is_regular_file_at(const std::string& path);

// Removes the temporary files and folders in `folder` whose processes no longer run. Processes lock what they write, so
// that those of other machines and containers, whose process IDs mean nothing here, lose nothing. Never follows a link.
void remove_leftovers(const std::string& folder);
// The same in `folder` and all folders below it; nothing if it is a link.
void remove_leftovers_below(const std::string& folder);
// The same in every folder that this process has written to. Called at the end of a command, because another process
// may have been killed in one of them after the command began.
void remove_leftovers_where_written();

// Removes a folder and its contents, if it exists.
void remove_folder(const std::string& path);

// Throws an InputError if `path` is a symbolic link, a device or a pipe. Runs write and delete files in their own
// folders only, and wait for nobody.
void refuse_link(const std::string& path);
// The same for everything in a folder and its subfolders, none of whose links it follows. A missing folder is fine.
void refuse_links_below(const std::string& folder);

// Removes the files of a folder whose names `is_own` accepts, and then the folder if it is empty. Never follows a link.
void remove_own_files(const std::string& folder, const std::function<bool(const std::string&)>& is_own);

// Creates the folder and its parents; existing ones are fine.
void make_folder(const std::string& path);

// Checks before a long run that a file or folder can be created (or replaced) at `path`, and leaves nothing behind.
// Missing parent folders are fine if they can be created.
void require_writable_target(const std::string& path);
// The same, but `path` must not be a folder.
void require_writable_file(const std::string& path);

}  // namespace tributary
