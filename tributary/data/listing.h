// Lists the pictures of a path without opening them.
//
// A path may be a folder of class folders, a flat folder, a list file, a single picture, a packed file or tar shards.
// The order of the pictures depends on names only, and is the same with and without labels, so that predictions line up
// with labels.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tributary/data/skipped.h"

namespace tributary {

enum class PathKind { kFolder, kPicture, kPacked, kList, kShards };

struct ListedPicture {
  std::string name;    // as given: below the folder's path, or as in the list
  std::string path;    // of the file
  int64_t label = -1;  // class index, or -1 if unknown
};

struct Listing {
  std::vector<ListedPicture> pictures;
  std::vector<std::string> classes;     // empty if unknown
  std::vector<SkippedPicture> skipped;  // files of a folder that are not listed, without hidden ones and documents
};

// Detects the kind of a path by its type on disk, its first bytes and its name. Throws an InputError if it does not
// exist or is none of these kinds.
PathKind kind_of_path(const std::string& path);

// All pictures in a folder and its subfolders, sorted by path, without hidden files and folders. A folder that several
// links lead to counts once.
Listing list_folder(const std::string& folder);

// The pictures of a folder with one subfolder per class, in the order of list_folder. The classes are the sorted folder
// names, or `expected`, which must then contain the same names (base/class_names.h).
Listing list_class_folders(const std::string& folder, const std::vector<std::string>& expected);

// The indices in `expected`, the model's classes, of `found`, the classes of `path`. Throws an InputError unless both
// are the same names in any order. `one` and `many` name them in the message: "class folder", "class folders".
std::vector<int64_t> match_classes(const std::string& path, const char* one, const char* many,
                                   const std::vector<std::string>& found, const std::vector<std::string>& expected);

// Class names "0" .. "count - 1".
std::vector<std::string> numbered_classes(int64_t count);

}  // namespace tributary
