// Files that are not read as pictures: a few unreadable pictures are skipped and reported, many are an error.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace tributary {

struct SkippedPicture {
  std::string path;
  std::string reason;      // "truncated JPEG"
  bool is_picture = true;  // counts as an unreadable picture; false for videos and files of unknown formats
};

// A file of a folder or archive that is not read because of its name. Nothing for documents, which accompany pictures
// in many data sets (.txt, .csv, .json, ...), nor for names of pictures that can be read.
std::optional<SkippedPicture> skipped_by_name(const std::string& path);

// The file at `path` in a folder, if it is not read: by its name, or because it is a dangling link or not a file.
std::optional<SkippedPicture> skipped_file(const std::string& path);

// Throws an InputError if all of the `total` pictures of `path` are bad, or more than the fraction `max_share`. Only
// unreadable pictures of `bad` count.
void check_skipped_share(const std::string& path, const std::vector<SkippedPicture>& bad, size_t total,
                         double max_share);

// The unreadable pictures among `skipped`.
size_t unreadable_pictures(const std::vector<SkippedPicture>& skipped);

}  // namespace tributary
