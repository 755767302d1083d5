// Which files a path of shards stands for.
//
// A person names one archive, a folder of them or a row of numbers as WebDataset's users write it:
// photos-000000.tar, photos/ or photos-{000000..000009}.tar.
#pragma once

#include <string>
#include <vector>

namespace tributary {

// True for a pattern with a row of numbers that ends in .tar, an existing archive (by its name or its first bytes), and
// a folder with archives and neither pictures nor folders in it: a backup among class folders is no shard.
bool is_shards_path(const std::string& path);

// The archives of such a path: those of a folder sorted by name, those of a pattern as it counts. All of them exist.
std::vector<std::string> shard_files(const std::string& path);

}  // namespace tributary
