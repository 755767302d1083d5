// Pictures that cannot be read: a few are skipped and reported, many are an error.
#pragma once

#include <string>
#include <vector>

namespace tributary {

struct SkippedPicture {
  std::string path;
  std::string reason;  // "truncated JPEG"
};

// Throws an InputError if all of the `total` pictures of `path` are bad, or more than the fraction `max_share`.
void check_skipped_share(const std::string& path, const std::vector<SkippedPicture>& bad, size_t total,
                         double max_share);

}  // namespace tributary
