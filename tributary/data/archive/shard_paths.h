// Expands a path to the files of its shards.
//
// A path is one archive, a folder of archives, or a numeric range as in WebDataset: photos-000000.tar, photos/ or
// photos-{000000..000009}.tar.
#pragma once

#include <string>
#include <vector>

namespace tributary {

// True for a pattern with a range that ends in .tar, an existing archive (by name or content), and a folder with
// archives but no pictures or subfolders: a backup among class folders is not a shard.
bool is_shards_path(const std::string& path);

// The archives of such a path: of a folder sorted by name, of a pattern in numeric order. All of them exist.
std::vector<std::string> shard_files(const std::string& path);

}  // namespace tributary
