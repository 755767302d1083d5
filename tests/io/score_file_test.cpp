#include "tributary/io/score_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/program.h"
#include "tests/support/python.h"
#include "tests/support/temp_dir.h"
#include "tributary/base/error.h"

namespace tributary {
namespace {

using test::TempDir;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

template <typename Read>
std::string refusal(Read read) {
  return test::message_of<InputError>(read);
}

// Why a score file is refused, without its folder.
std::string refused(const std::string& name, const std::string& text,
                    const std::vector<std::string>& pictures = {"photos/a.png", "photos/b.png"}) {
  const TempDir folder;
  folder.write(name, text);
  std::string message = refusal([&] {
    const ScoreFile scores = read_score_file(folder / name);
    kind_of(scores, ScoreKind::kAuto);
    rows_of(scores, pictures, "photos");
  });
  const std::string prefix = folder.path() + "/";
  for (size_t at = message.find(prefix); at != std::string::npos; at = message.find(prefix))
    message.erase(at, prefix.size());
  return message;
}

const std::string kTitles = "picture,cat,dog\n";

TEST(ScoreFile, ReadsCsvWithQuotesAndOtherLineBreaks) {
  const TempDir folder;
  folder.write("a.csv", "\xef\xbb\xbfpicture,\"cat, black\",dog\r\n\"photos/a,1.png\",0.25,0.75\r\n\r\nb.png,1,0");
  const ScoreFile scores = read_score_file(folder / "a.csv");
  EXPECT_THAT(scores.classes, ElementsAre("cat, black", "dog"));
  EXPECT_THAT(scores.pictures, ElementsAre("photos/a,1.png", "b.png"));
  EXPECT_THAT(scores.values, ElementsAre(0.25F, 0.75F, 1.F, 0.F));
  EXPECT_EQ(scores.rows, 2);
}

TEST(ScoreFile, ReadsNumbersAndTitlesAsSpreadsheetsWriteThem) {
  const TempDir folder;
  folder.write("a.csv", "picture, cat, dog\na.png,1E-50,1e-50\nb.png,+1.5E0,-1\n");
  const ScoreFile scores = read_score_file(folder / "a.csv");
  EXPECT_THAT(scores.classes, ElementsAre("cat", "dog"));
  EXPECT_THAT(scores.values, ElementsAre(0.F, 0.F, 1.5F, -1.F));
  for (const char* number : {"1e-50abc", "1E", "0x1"})
    EXPECT_THAT(refused("a.csv", kTitles + "photos/a.png," + number + ",0\n"), HasSubstr("is no number")) << number;
  EXPECT_THAT(refused("a.csv", kTitles + "photos/a.png,1E50,0\n"), HasSubstr("infinite"));
}

TEST(ScoreFile, TellsProbabilitiesFromLogitsByTheirValues) {
  ScoreFile scores{"a.csv", {}, {}, 2, 2, {0.25F, 0.75F, 1.F, 0.F}};
  EXPECT_EQ(kind_of(scores, ScoreKind::kAuto), ScoreKind::kProbabilities);
  EXPECT_EQ(kind_of(scores, ScoreKind::kLogits), ScoreKind::kLogits);
  const std::vector<float> logits = logits_of(scores, ScoreKind::kAuto);
  EXPECT_FLOAT_EQ(logits[0], std::log(0.25F));
  EXPECT_FLOAT_EQ(logits[3], std::log(1e-6F)) << "0 may be a rounded probability";
  scores.values = {0.2F, -0.3F, 5.F, 1.F};
  EXPECT_EQ(kind_of(scores, ScoreKind::kAuto), ScoreKind::kLogits);
  EXPECT_EQ(logits_of(scores, ScoreKind::kAuto), scores.values);
  EXPECT_THAT(refusal([&] { kind_of(scores, ScoreKind::kProbabilities); }),
              HasSubstr("a.csv: the scores of row 0 go down to -0.3; write probabilities"));
}

TEST(ScoreFile, FindsRowsByNameThenBelowTheFolderThenByFileName) {
  const std::vector<std::string> names = {"photos/x/1.png", "photos/y/1.png"};
  const auto rows = [&](const std::vector<std::string>& pictures) {
    const auto count = static_cast<int64_t>(pictures.size());
    return rows_of({"a.csv", pictures, {}, count, 2, std::vector<float>(2 * pictures.size())}, names, "photos");
  };
  EXPECT_THAT(rows({"photos/y/1.png", "photos/x/1.png", "photos/z.png"}), ElementsAre(1, 0));
  EXPECT_THAT(rows({"/data/site/y/1.png", "/data/site/x/1.png"}), ElementsAre(1, 0));
  EXPECT_THAT(refusal([&] { rows({"x1.png", "1.png"}); }), HasSubstr("no scores of 2 of the 2 pictures of photos"));
  const ScoreFile flat{"a.csv", {"b.png", "other/a.png"}, {}, 2, 2, {0, 0, 0, 0}};
  EXPECT_THAT(rows_of(flat, {"photos/a.png", "photos/b.png"}, "photos"), ElementsAre(1, 0));
}

TEST(ScoreFile, TakesRowsWithoutNamesInOrder) {
  const ScoreFile scores{"a.npy", {}, {}, 2, 2, {0, 0, 0, 0}};
  EXPECT_THAT(rows_of(scores, {"x", "y"}, "photos"), ElementsAre(0, 1));
  EXPECT_EQ(refusal([&] {
              rows_of(scores, {"x", "y", "z"}, "photos");
            }),
            "a.npy has 2 rows without names of pictures, but photos has 3 pictures; name the pictures, or give one row "
            "per picture in their order");
}

TEST(ScoreFile, RefusesBadInputInOneSentence) {
  EXPECT_EQ(refused("a.csv", kTitles + "photos/a.png,0.5,0.5\nphotos/c.png,0.5,0.5\n"),
            "a.csv has no scores of 1 of the 2 pictures of photos, first photos/b.png; score the same pictures, under "
            "the same names");
  EXPECT_EQ(refused("a.csv", kTitles + "m/x.png,0.5,0.5\nm/y.png,0.5,0.5\n"),
            "a.csv has no scores of 2 of the 2 pictures of photos, first photos/a.png; score the same pictures, under "
            "the same names");
  EXPECT_EQ(refused("a.csv", kTitles + "photos/a.png,0.5,0.5\nphotos/b.png,0.25,0.5\n"),
            "a.csv: the scores of photos/b.png sum to 0.75, not 1; write probabilities, or name logits with "
            "a.csv:scores=logits");
  EXPECT_EQ(refused("a.csv", kTitles + "photos/a.png,0.5,nan\n"),
            "a.csv: a score of photos/a.png is NaN; leave pictures out that could not be scored, or score them again");
  EXPECT_THAT(refused("a.csv", kTitles + "photos/a.png,0.5,1e50\n"), HasSubstr("is infinite"));
  EXPECT_EQ(refused("a.csv", kTitles + "photos/a.png,0.5,yes\n"),
            "a.csv:2: \"yes\" in the column dog is no number; write scores such as 0.25");
  EXPECT_EQ(refused("a.csv", kTitles + "photos/a.png,0.5\n"),
            "a.csv:2: 2 cells in 3 columns; write one score per class, and names with commas in quotes");
  EXPECT_EQ(refused("a.csv", kTitles + "\"photos/a.png,0.5,0.5\n"),
            "a.csv:2: a quote is not closed; close it, or write quotes twice");
  EXPECT_EQ(refused("a.csv", kTitles + "a,0,1\na,0,1\n"), "a.csv has scores of a twice; give each picture one row");
  EXPECT_EQ(refused("a.csv", "picture,cat,cat\na,0,1\n"),
            "a.csv has the class 'cat' twice; give each class one column");
  EXPECT_EQ(refused("a.csv", "picture,cat\na,1\n"), "a.csv has scores of 1 class; a source needs at least 2");
  EXPECT_EQ(refused("a.csv", kTitles), "a.csv has no scores; write one row per picture");
  EXPECT_THAT(refused("a.csv", "name,cat,dog\na,0,1\n"), HasSubstr("does not begin with the columns picture,CLASS"));
  EXPECT_THAT(refused("a.csv", "path,class,confidence,agreement,error\na,cat,1,1,\n"),
              HasSubstr("has classes of pictures but no scores; write scores with tributary predict --scores"));
  EXPECT_THAT(refused("a.csv", kTitles + "photos/a.png,-20000,0\n"), HasSubstr("has logits of up to 20000; divide"));
  EXPECT_THAT(refused("a.npy", "nothing"), HasSubstr("a.npy is not a NumPy array: it does not begin with"));
  EXPECT_THAT(refused("a.npz", "nothing"), HasSubstr("damaged zip archive"));
}

TEST(ScoreFile, IsReadAsItWasWritten) {
  const TempDir folder;
  for (const char* name : {"a.csv", "a.npy", "a.npz"}) {
    const ScoreFile written{
        folder / name, {"photos/\xc3\xbc.png", "=b.png"}, {"cat", "\xe7\x8b\x97"}, 2, 2, {0.125F, 0.875F, 1e-7F, 1.F}};
    write_score_file(written);
    const ScoreFile read = read_score_file(written.path);
    EXPECT_EQ(read.pictures, written.pictures) << name;
    EXPECT_EQ(read.classes, written.classes) << name;
    EXPECT_EQ(read.values, written.values) << name;
    EXPECT_EQ(read.columns, 2) << name;
  }
}

TEST(ScoreFile, KeepsEveryOneOfManyClasses) {
  constexpr int64_t kClasses = 1500;
  const TempDir folder;
  ScoreFile scores{folder / "a.csv", {"a.png"}, {}, 1, kClasses, std::vector<float>(kClasses, 0.5F)};
  for (int64_t k = 0; k < kClasses; ++k) scores.classes.push_back("class " + std::to_string(k));
  write_score_file(scores);
  const ScoreFile read = read_score_file(folder / "a.csv");
  EXPECT_EQ(read.columns, kClasses);
  EXPECT_EQ(read.classes, scores.classes);
}

TEST(ScoreFile, ReplacesNoFileBesideItButItsOwnNames) {
  const TempDir folder;
  const ScoreFile scores{folder / "a.npy", {"a.png"}, {"cat", "dog"}, 1, 2, {0.25F, 0.75F}};
  EXPECT_NO_THROW(require_names_file(scores.path));
  write_score_file(scores);
  EXPECT_NO_THROW(require_names_file(scores.path)) << "its own names";
  folder.write("a.json", R"({"accuracy": 90})");
  EXPECT_THAT(refusal([&] { require_names_file(scores.path); }), HasSubstr("would be replaced by the names of"));
  EXPECT_NO_THROW(require_names_file(folder / "a.npz"));
}

TEST(ScoreFile, ExchangesFilesWithNumPy) {
  const auto python = test::python_with("numpy");
  if (!python) GTEST_SKIP() << "skipped: no python3-numpy";
  const TempDir folder;
  write_score_file({folder / "ours.npz", {"a.png", "\xc3\xbc.png"}, {"cat", "dog"}, 2, 2, {0.25F, 0.75F, 1.F, 0.F}});
  write_score_file({folder / "ours.npy", {"a.png", "b.png"}, {"cat", "dog"}, 2, 2, {0.25F, 0.75F, 1.F, 0.F}});
  folder.write("numpy_files.py",
               "import numpy as np\n"
               "ours = np.load('ours.npz')\n"
               "assert ours['pictures'].tolist() == ['a.png', '\\u00fc.png'], ours['pictures']\n"
               "assert ours['classes'].tolist() == ['cat', 'dog']\n"
               "for scores in (ours['scores'], np.load('ours.npy')):\n"
               "    assert scores.dtype == np.float32 and scores.tolist() == [[0.25, 0.75], [1, 0]]\n"
               "scores = np.array([[0.25, 0.75], [1, 0]])\n"
               "for kind in ('f2', 'f4', 'f8'):\n"
               "    np.savez(kind + '.npz', scores=scores.astype(kind), pictures=['a.png', '\\u00fc.png'],\n"
               "             classes=np.array([b'cat', b'dog']))\n"
               "np.save('fortran.npy', np.asfortranarray(np.ones((2, 3), np.float32)))\n"
               "np.save('integers.npy', np.ones((2, 3), np.int64))\n"
               "np.save('flat.npy', np.ones(6))\n"
               "np.savez_compressed('compressed.npz', scores=scores)\n"
               "np.savez('other.npz', logits=scores)\n"
               "np.savez('objects.npz', scores=scores, pictures=np.array(['a', 1], dtype=object))\n");
  const std::string command =
      "cd " + test::shell_quoted(folder.path()) + " && " + test::shell_quoted(*python) + " numpy_files.py";
  ASSERT_EQ(std::system(command.c_str()), 0);
  for (const char* kind : {"f2", "f4", "f8"}) {
    const ScoreFile read = read_score_file(folder / (std::string(kind) + ".npz"));
    EXPECT_THAT(read.values, ElementsAre(0.25F, 0.75F, 1.F, 0.F)) << kind;
    EXPECT_THAT(read.pictures, ElementsAre("a.png", "\xc3\xbc.png")) << kind;
    EXPECT_THAT(read.classes, ElementsAre("cat", "dog")) << kind;
  }
  const auto message = [&](const char* name) { return refusal([&] { read_score_file(folder / name); }); };
  EXPECT_THAT(message("fortran.npy"), HasSubstr("is in Fortran order; save numpy.ascontiguousarray(array)"));
  EXPECT_THAT(message("integers.npy"), HasSubstr("has the type <i8; save scores as float32"));
  EXPECT_THAT(message("flat.npy"), HasSubstr("has the shape (6); save scores as an array [pictures, classes]"));
  EXPECT_THAT(message("compressed.npz"), HasSubstr("is compressed; save it with numpy.savez"));
  EXPECT_THAT(message("other.npz"), HasSubstr("has no array 'scores' but logits.npy; save it with numpy.savez"));
  EXPECT_THAT(message("objects.npz"), HasSubstr("save scores as float32, and names as numpy.array(names, dtype=str)"));
}

}  // namespace
}  // namespace tributary
