// Names of domains and models, taken from the paths that users give, and names of pictures in other places.
//
// Data sets and trainings are laid out alike everywhere: sketch/train, sketch/images, resnet50/best.pth. The last part
// of such a path is the same for every domain, so the name is the nearest part that differs.
#pragma once

#include <string>
#include <vector>

namespace tributary {

// The last part of a folder's path that names more than a part of a data set (train, test, images, ..). Only parts that
// the path spells out count; "." and ".." stand for the folders they lead to. Empty if every part is of that kind.
std::string telling_folder(const std::string& path);

// The name of a model in a file: its stem, or the folder's if the stem is one like "model" or "best".
std::string telling_model_name(const std::string& path);

// The paths below the deepest folder that contains all of them; `paths` is not empty.
std::vector<std::string> below_common_folder(const std::vector<std::string>& paths);

// The last part of every path.
std::vector<std::string> file_names(const std::vector<std::string>& paths);

}  // namespace tributary
