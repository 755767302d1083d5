#include "tributary/base/staged_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "tests/support/temp_dir.h"
#include "tributary/base/files.h"

namespace tributary {
namespace {

using test::TempDir;
using ::testing::ElementsAre;

std::vector<std::string> tree(const TempDir& dir) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(dir.path()))
    names.push_back(std::filesystem::relative(entry.path(), dir.path()).string());
  std::sort(names.begin(), names.end());
  return names;
}

TEST(StagedFolder, AppearsWithAllFiles) {
  for (const bool exists : {false, true}) {
    const TempDir dir;
    if (exists) dir.folder("a/out");
    {
      StagedFolder staged(dir / "a/out/");
      for (const char* name : {"one", "two"}) write_file_atomically(staged.path() + "/" + name, name);
      EXPECT_FALSE(std::filesystem::exists(dir / "a/out/one"));
      staged.commit({"one", "two"});
    }
    EXPECT_THAT(tree(dir), ElementsAre("a", "a/out", "a/out/one", "a/out/two"));
    EXPECT_EQ(read_text(dir / "a/out/two"), "two");
  }
}

TEST(StagedFolder, LeavesNothingWithoutCommit) {
  const TempDir dir;
  dir.folder("empty");
  for (const char* out : {"deep/er/out", "empty"}) {
    StagedFolder staged(dir / out);
    write_file_atomically(staged.path() + "/one", "x");
  }
  EXPECT_THAT(tree(dir), ElementsAre("empty"));
}

TEST(StagedFolder, LeftoversOfKilledProcessesAreRemoved) {
  const TempDir dir;
  dir.write(".tributary-999999999-folder.tmp/one", "x");
  remove_leftovers(dir.path());
  EXPECT_TRUE(tree(dir).empty());
}

TEST(StagedFolder, OthersBesideItStay) {
  const TempDir dir;
  StagedFolder first(dir / "first");
  StagedFolder second(dir / "second");
  for (const StagedFolder* staged : {&first, &second}) write_file_atomically(staged->path() + "/one", "x");
  remove_leftovers(dir.path());
  first.commit({"one"});
  second.commit({"one"});
  EXPECT_THAT(tree(dir), ElementsAre("first", "first/one", "second", "second/one"));
}

TEST(IsEmptyFolder, IgnoresTemporaryFiles) {
  const TempDir dir;
  EXPECT_TRUE(is_empty_folder(dir.path()));
  dir.write(".tributary-1-0.tmp", "x");  // of a running process
  dir.write(".tributary-999999999-folder.tmp/one", "x");
  EXPECT_TRUE(is_empty_folder(dir.path()));
  EXPECT_FALSE(is_empty_folder(dir / ".tributary-1-0.tmp"));
  EXPECT_FALSE(is_empty_folder(dir / "missing"));
  dir.write(".tributary-notes", "x");
  EXPECT_FALSE(is_empty_folder(dir.path()));
}

}  // namespace
}  // namespace tributary
