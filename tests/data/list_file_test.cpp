#include "tributary/data/list_file.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/support/temp_dir.h"
#include "tributary/base/error.h"

namespace tributary {
namespace {

using test::TempDir;

// "name=label" per picture.
std::vector<std::string> summary(const Listing& listing) {
  std::vector<std::string> lines;
  for (const ListedPicture& picture : listing.pictures)
    lines.push_back(fmt::format("{}={}", picture.name, picture.label));
  return lines;
}

void expect_mentions(const std::string& message, const std::vector<std::string>& parts) {
  for (const std::string& part : parts)
    EXPECT_NE(message.find(part), std::string::npos) << message << "\n  lacks: " << part;
}

TEST(LabelledList, ReadsAllKindsOfLines) {
  const TempDir dir;
  for (const char* name : {"a.jpg", "b c.jpg", "d 7", "d", "e.jpg 3", "sub/f.png"}) dir.write(name, "x");
  const struct {
    const char* what;
    const char* text;
    std::vector<std::string> expected;
  } cases[] = {
      {"plain", "a.jpg 3\n", {"a.jpg=3"}},
      {"no newline at the end", "a.jpg 3", {"a.jpg=3"}},
      {"CRLF", "a.jpg 3\r\nd 1\r\n", {"a.jpg=3", "d=1"}},
      {"tabs and many spaces", "a.jpg\t \t3  \n", {"a.jpg=3"}},
      {"leading spaces", "   a.jpg 3\n", {"a.jpg=3"}},
      {"spaces in the name", "b c.jpg 12\n", {"b c.jpg=12"}},
      {"a name that ends in a number", "d 7 2\n", {"d 7=2"}},
      {"a sub-folder", "sub/f.png 0\n./sub/f.png 1\n", {"sub/f.png=0", "./sub/f.png=1"}},
      {"comments and empty lines", "# list\n\n   \na.jpg 3\n  # more\n\r\n", {"a.jpg=3"}},
      {"the same twice", "a.jpg 3\na.jpg 3\n", {"a.jpg=3", "a.jpg=3"}},
      {"leading zeros", "a.jpg 007\n", {"a.jpg=7"}},
      {"byte order mark",
       "\xef\xbb\xbf"
       "a.jpg 3\n",
       {"a.jpg=3"}},
  };
  for (const auto& [what, text, expected] : cases)
    EXPECT_EQ(summary(list_from_labelled_file(dir.write("list.txt", text), "", {})), expected) << what;
}

TEST(LabelledList, FindsMnistMPicturesInTheFolderOfTheSameName) {
  const TempDir dir;
  dir.write("mnist_m_train/00000001.png", "x");
  const std::string list = dir.write("mnist_m_train_labels.txt", "00000001.png 5\n");
  const Listing listing = list_from_labelled_file(list, "", {});
  EXPECT_EQ(summary(listing), (std::vector<std::string>{"00000001.png=5"}));
  EXPECT_EQ(listing.pictures[0].path, dir / "mnist_m_train/00000001.png");
  dir.write("00000001.png", "x");  // the folder of the list has precedence
  EXPECT_EQ(list_from_labelled_file(list, "", {}).pictures[0].path, dir / "00000001.png");
}

TEST(UnlabelledList, ReadsLinesWithAndWithoutLabels) {
  const TempDir dir;
  for (const char* name : {"a.jpg", "b c.jpg", "d 7"}) dir.write(name, "x");
  const std::string list = dir.write("list.lst", "a.jpg\na.jpg 3\nb c.jpg\nb c.jpg 4\nd 7\n");
  EXPECT_EQ(summary(list_from_file(list, "")),
            (std::vector<std::string>{"a.jpg=-1", "a.jpg=-1", "b c.jpg=-1", "b c.jpg=-1", "d 7=-1"}));
}

TEST(ListFile, SearchesRootListFolderAndWorkingFolder) {
  const TempDir dir;
  const std::string in_list_folder = dir.write("lists/p.jpg", "x");
  const std::string under_root = dir.write("root/p.jpg", "x");
  const std::string list = dir.write("lists/list.txt", "p.jpg 0\n");
  EXPECT_EQ(list_from_file(list, "").pictures[0].path, in_list_folder);
  EXPECT_EQ(list_from_file(list, dir / "root").pictures[0].path, under_root);

  const std::string absolute = dir.write("lists/absolute.txt", under_root + " 0\n");
  EXPECT_EQ(list_from_file(absolute, "/nowhere").pictures[0].path, under_root);

  // The working folder is searched last.
  const std::string from_here = std::filesystem::relative(under_root).string();
  const std::string relative = dir.write("lists/relative.txt", from_here + " 0\n");
  EXPECT_TRUE(std::filesystem::equivalent(list_from_file(relative, "").pictures[0].path, under_root));
}

TEST(ListFile, NamesTheLineOfAMissingPicture) {
  const TempDir dir;
  dir.write("a.jpg", "x");
  dir.folder("folder");
  const std::string list = dir.write("list.txt", "# first\na.jpg 0\nno such.jpg 1\n");
  expect_mentions(test::message_of<InputError>([&] { list_from_file(list, ""); }), {list, "line 3", "no such.jpg,"});
  expect_mentions(test::message_of<InputError>([&] { list_from_file(list, "/data"); }),
                  {list, "line 2", "under /data"});
  const std::string absolute = dir.write("list.txt", "/no/such.jpg 1\n");
  expect_mentions(test::message_of<InputError>([&] { list_from_file(absolute, ""); }),
                  {list, "line 1", "/no/such.jpg"});
  const std::string folder = dir.write("list.txt", "folder 1\n");
  expect_mentions(test::message_of<InputError>([&] { list_from_file(folder, ""); }), {list, "line 1", "folder"});
}

TEST(ListFile, RejectsLinesThatAreNotPaths) {
  const TempDir dir;
  for (const std::string& text : {std::string(100'000, 'x'), std::string("1\n"), std::string("-1\n"),
                                  std::string("a\0b 1", 5), std::string("\xff\xfe\n"), std::string(5000, '/')})
    EXPECT_THROW(list_from_file(dir.write("list.txt", text), ""), InputError);
}

TEST(ListFile, RejectsEmptyLists) {
  const TempDir dir;
  for (const char* text : {"", "\n\n", "# only a comment\n", "\r\n"}) {
    const std::string list = dir.write("list.txt", text);
    expect_mentions(test::message_of<InputError>([&] { list_from_file(list, ""); }), {list, "lists no pictures"});
  }
}

TEST(LabelledList, NumbersTheClasses) {
  const TempDir dir;
  dir.write("a.jpg", "x");
  const std::string list = dir.write("list.txt", "a.jpg 2\na.jpg 0\n");
  EXPECT_EQ(list_from_labelled_file(list, "", {}).classes, (std::vector<std::string>{"0", "1", "2"}));
  const std::vector<std::string> expected = {"bike", "mug", "pen", "ruler"};
  EXPECT_EQ(list_from_labelled_file(list, "", expected).classes, expected);
}

TEST(LabelledList, RejectsInvalidLabels) {
  const TempDir dir;
  dir.write("a.jpg", "x");
  const struct {
    const char* text;
    std::vector<std::string> expected;
    std::vector<std::string> parts;
  } cases[] = {
      {"a.jpg 0\na.jpg\n", {}, {"line 2", "no label after a.jpg"}},
      {"a.jpg 2\n", {"x", "y"}, {"line 1", "label 2", "knows 2 classes"}},
      {"a.jpg 1000000\n", {}, {"line 1", "label 1000000 or more"}},
      {"a.jpg 99999999999999999999999999\n", {}, {"line 1", "label 1000000 or more"}},
      {"a.jpg -1\n", {}, {"line 1", "a.jpg -1"}},
      {"a.jpg 1.5\n", {}, {"line 1", "a.jpg 1.5"}},
      {"a.jpg,1\n", {}, {"line 1", "a.jpg,1"}},
  };
  for (const auto& [text, expected, parts] : cases) {
    const std::string list = dir.write("list.txt", text);
    SCOPED_TRACE(text);
    expect_mentions(test::message_of<InputError>([&] { list_from_labelled_file(list, "", expected); }), parts);
    expect_mentions(test::message_of<InputError>([&] { list_from_labelled_file(list, "", expected); }), {list});
  }
}

}  // namespace
}  // namespace tributary
