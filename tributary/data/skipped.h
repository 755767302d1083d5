// Pictures that cannot be read: a few are set aside and told of, many mean that something else is wrong.
#pragma once

#include <string>
#include <vector>

namespace tributary {

struct SkippedPicture {
  std::string path;
  std::string reason;  // "truncated JPEG"
};

// An InputError if more than the share `most` of `total` pictures of `path` are bad, or all of them.
void check_skipped_share(const std::string& path, const std::vector<SkippedPicture>& bad, size_t total, double most);

}  // namespace tributary
