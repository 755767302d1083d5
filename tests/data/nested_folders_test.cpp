#include "tributary/data/nested_folders.h"

#include <gtest/gtest.h>

namespace tributary {
namespace {

using Names = std::vector<std::string>;

TEST(NestedFolders, ClassesOfSeveralDomainsAreShared) {
  EXPECT_EQ(shared_folders("data", {"data/photo/dog/1.jpg", "data/photo/horse/1.jpg", "data/sketch/dog/1.jpg",
                                    "data/sketch/horse/1.jpg", "data/sketch/house/1.jpg", "data/loose/1.jpg"}),
            (Names{"dog", "horse"}));
  EXPECT_EQ(shared_folders("./", {"./a/x/1.jpg", "./a/y/1.jpg", "./b/x/1.jpg", "./b/y/1.jpg"}), (Names{"x", "y"}));
}

TEST(NestedFolders, FoldersWithinOneClassAreNot) {
  EXPECT_EQ(shared_folders("data", {"data/dog/1.jpg", "data/dog/close/2.jpg", "data/horse/far/1.jpg"}), Names());
  EXPECT_EQ(shared_folders("data", {"data/dog/2023/1.jpg", "data/horse/2023/1.jpg"}), Names()) << "only one name";
}

}  // namespace
}  // namespace tributary
