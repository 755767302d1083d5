#include "tributary/data/label_file.h"

#include <gmock/gmock.h>

#include "tests/support/temp_dir.h"
#include "tributary/base/error.h"

namespace tributary {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<LabelRow> read(const std::string& text) {
  const test::TempDir dir;
  return read_label_file(dir.write("few.csv", text));
}

std::string complaint(const std::string& text) {
  try {
    read(text);
  } catch (const InputError& error) {
    return error.what();
  }
  return "accepted";
}

const std::vector<std::string> kNames = {"photos/a.jpg", "photos/b.jpg", "photos/x/c.jpg", "photos/y/c.jpg"};
const std::vector<std::string> kClasses = {"car", "lorry"};

MatchedRows match(const std::string& text) {
  return match_rows(read(text), "few.csv", kNames, kClasses);
}

std::string mismatch(const std::string& text) {
  try {
    match(text);
  } catch (const InputError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(LabelFile, RoundTripsNamesThatNeedQuotes) {
  const std::vector<LabelRow> rows = {{"a, b.jpg", "car", {}, 2}, {"=1\"2\".jpg", "", {}, 3}, {"c.jpg", "lorry", 7, 4}};
  const std::vector<LabelRow> again = read(label_file_text(rows));
  ASSERT_EQ(again.size(), 3u);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(again[i].picture, rows[i].picture);
    EXPECT_EQ(again[i].label, rows[i].label);
    EXPECT_EQ(again[i].random_seed, rows[i].random_seed);
    EXPECT_EQ(again[i].line, rows[i].line);
  }
}

TEST(LabelFile, ReadsFilesOfOtherPrograms) {
  const std::vector<LabelRow> rows =
      read("\xef\xbb\xbflabel;x,label,note,picture\r\n1,car,\"two\r\nlines\",a.jpg\r\n\r\n2,lorry,,b.jpg");
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].picture, "a.jpg");
  EXPECT_EQ(rows[0].label, "car");
  EXPECT_EQ(rows[1].label, "lorry") << "the last line has no line break";
}

TEST(LabelFile, RefusesDamage) {
  EXPECT_THAT(complaint(""), HasSubstr("does not begin with the columns picture,label"));
  EXPECT_THAT(complaint("path,class\na.jpg,car\n"), HasSubstr("name them in its first line"));
  EXPECT_THAT(complaint("picture,label\na.jpg\n"), HasSubstr("few.csv:2: 1 cells in 2 columns"));
  EXPECT_THAT(complaint("picture,label\na,b.jpg,car\n"), HasSubstr("put names with commas into quotes"));
  EXPECT_THAT(complaint("picture,label\n\"a.jpg,car\n"), HasSubstr("few.csv:2: a quote is not closed"));
  EXPECT_THAT(complaint("picture,label,drawn\na.jpg,car,random x\n"), HasSubstr("\"random x\" is no seed"));
  EXPECT_THAT(complaint("picture,label,drawn\na.jpg,car,random 99999999999999999999\n"), HasSubstr("is no seed"));
}

TEST(LabelFile, FindsPicturesByNameOrFileName) {
  const MatchedRows found =
      match("picture,label\n/moved/b.jpg,lorry\nphotos/y/c.jpg,car\nphotos/a.jpg,\nphotos/y/c.jpg,car\n");
  EXPECT_THAT(found.picture, ElementsAre(1, 3));
  EXPECT_THAT(found.label, ElementsAre(1, 0));
}

TEST(LabelFile, RefusesWhatItCannotMatch) {
  EXPECT_THAT(mismatch("picture,label\nd.jpg,car\n"), HasSubstr("few.csv:2: d.jpg is not among the target pictures"));
  EXPECT_THAT(mismatch("picture,label\nc.jpg,car\n"), HasSubstr("c.jpg names several target pictures"));
  EXPECT_THAT(mismatch("picture,label\na.jpg,lory\n"),
              HasSubstr("lory is not a class of the models; did you mean lorry?"));
  EXPECT_THAT(mismatch("picture,label\na.jpg,aeroplane\n"), HasSubstr("the classes are car, lorry"));
  EXPECT_THAT(mismatch("picture,label\na.jpg,car\nphotos/a.jpg,lorry\n"),
              HasSubstr("few.csv:3: photos/a.jpg is lorry here and car in line 2"));
}

TEST(LabelFile, TakesLittleMemoryForCellsAndRows) {
  EXPECT_THAT(complaint("picture,label" + std::string(100'000, ',') + "\n"), HasSubstr("more than 1000 columns"));
  EXPECT_THAT(complaint("picture,label\n" + std::string(100'000, ',') + "\n"), HasSubstr("1001 cells in 2 columns"));
  std::string many = "picture,label\n";
  for (int i = 0; i < 5'000'001; ++i) many += ",\n";
  EXPECT_THAT(complaint(many), HasSubstr("more than 5000000 rows"));
}

TEST(LabelFile, FindsClassesWhoseNamesACsvFileCannotShow) {
  const std::vector<LabelRow> rows = read(label_file_text({{"photos/a.jpg", "car\x1b[2J", {}, 2}}));
  EXPECT_THAT(match_rows(rows, "few.csv", kNames, {"lorry", "car\x1b[2J"}).label, ElementsAre(1));
  try {
    match_rows(rows, "few.csv", kNames, {"car\x1b[2J", "car\x02[2J"});
    ADD_FAILURE() << "accepted";
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), HasSubstr("several classes of the models look like car?[2J"));
  }
}

}  // namespace
}  // namespace tributary
