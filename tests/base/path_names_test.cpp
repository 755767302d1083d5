#include "tributary/base/path_names.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

namespace tributary {
namespace {

TEST(PathNames, SkipsFoldersThatArePartsOfEveryDataSet) {
  EXPECT_EQ(telling_folder("data/sketch/train"), "sketch");
  EXPECT_EQ(telling_folder("data/sketch/train/"), "sketch");
  EXPECT_EQ(telling_folder("office31/amazon/images"), "amazon");
  EXPECT_EQ(telling_folder("/home/me/Sketch/Images/Test"), "Sketch");
  EXPECT_EQ(telling_folder("photos"), "photos");
}

TEST(PathNames, OnlySpelledOutFoldersCount) {
  EXPECT_EQ(telling_folder("train"), "");
  EXPECT_EQ(telling_folder("data/train/"), "");
  EXPECT_EQ(telling_folder("/data/train"), "");
  EXPECT_EQ(telling_folder("."), telling_folder(std::filesystem::current_path().string()));
  EXPECT_EQ(telling_folder("x/.."), telling_folder("."));
}

TEST(PathNames, ModelsWithGeneralNamesAreCalledAfterTheirFolder) {
  EXPECT_EQ(telling_model_name("hospital-a.pth"), "hospital-a");
  EXPECT_EQ(telling_model_name("runs/hospital-a/best.pth"), "hospital-a");
  EXPECT_EQ(telling_model_name("runs/hospital-b/model_best.pth.tar"), "hospital-b");
  EXPECT_EQ(telling_model_name("best.pth"), "best");
}

TEST(PathNames, BelowTheDeepestCommonFolder) {
  using Paths = std::vector<std::string>;
  EXPECT_EQ(below_common_folder({"data/a/1.png", "data/a/2.png"}), (Paths{"1.png", "2.png"}));
  EXPECT_EQ(below_common_folder({"data/ab/1.png", "data/ac/1.png"}), (Paths{"ab/1.png", "ac/1.png"}));
  EXPECT_EQ(below_common_folder({"1.png", "data/1.png"}), (Paths{"1.png", "data/1.png"}));
  EXPECT_EQ(below_common_folder({"/data/only.png"}), (Paths{"only.png"}));
  EXPECT_EQ(file_names({"data/a/1.png", "2.png"}), (Paths{"1.png", "2.png"}));
}

}  // namespace
}  // namespace tributary
