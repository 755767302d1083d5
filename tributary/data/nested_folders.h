// Notices a folder of domains that is given where a folder of classes belongs.
#pragma once

#include <string>
#include <vector>

namespace tributary {

// Names of folders that several class folders of `folder` have in common, sorted: "dog", "horse" for a folder with
// photo/dog, photo/horse, sketch/dog and sketch/horse. `pictures` are the paths of its pictures. Empty if there are
// fewer than two.
std::vector<std::string> shared_folders(const std::string& folder, const std::vector<std::string>& pictures);

}  // namespace tributary
