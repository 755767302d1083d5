// Which pictures a path stands for, before any of them is opened.
//
// A person names a folder of class folders, a flat folder, a text file that lists pictures, a single picture, a file of
// many or tar shards; this decides which of them it is and lists the pictures in an order that depends on names alone.
// A folder gives the same order with labels and without, so that predictions line up with labels.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tributary {

enum class PathKind { kFolder, kPicture, kPacked, kList, kShards };

struct ListedPicture {
  std::string name;    // as given: the folder's path and below, or as the list has it
  std::string path;    // where to open it
  int64_t label = -1;  // class index, or -1 where nothing is known
};

struct Listing {
  std::vector<ListedPicture> pictures;
  std::vector<std::string> classes;  // empty where nothing is known
};

// What a path is: by its kind on disk, its first bytes and its name. InputError if it does not exist or is none of
// them.
PathKind kind_of_path(const std::string& path);

// Every picture in a folder and the folders below it, sorted by path; hidden files and folders are left out.
Listing list_folder(const std::string& folder);

// The pictures of a folder whose sub-folders are classes, in the order of list_folder. The classes are the folders'
// names, sorted; or `expected`, which the names must then equal.
Listing list_class_folders(const std::string& folder, const std::vector<std::string>& expected);

// An InputError that says how `found`, the classes of `path`, differ from `expected`, those of a model; their order
// does not matter. `one` and `many` are what they are called: "class folder", "class folders".
void check_classes(const std::string& path, const char* one, const char* many, const std::vector<std::string>& found,
                   const std::vector<std::string>& expected);

// Class names "0" .. "count - 1".
std::vector<std::string> numbered_classes(int64_t count);

}  // namespace tributary
