#include "tributary/data/match_labels.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/pictures.h"
#include "tests/support/temp_dir.h"
#include "tributary/base/error.h"

namespace tributary {
namespace {

using ::testing::HasSubstr;
using Strings = std::vector<std::string>;

// Pictures of one pixel each, with these grey values.
ImageSet pictures_of(Strings names, const std::vector<uint8_t>& greys) {
  std::vector<uint8_t> pixels;
  for (const uint8_t grey : greys) pixels.insert(pixels.end(), 3, grey);
  return test::image_set(1, 1, std::move(names), std::move(pixels));
}

LabelledImages labelled(Strings names, const std::vector<uint8_t>& greys, std::vector<int64_t> labels) {
  return {pictures_of(std::move(names), greys), {{"cat", "dog", "owl"}, std::move(labels)}};
}

MatchedLabels match(const ImageSet& wanted, const LabelledImages& known, bool loaded = true) {
  return match_labels({"photos", wanted.names, [&] { return loaded ? &wanted : nullptr; }}, known, "labels");
}

TEST(MatchLabels, SameNamesInAnyOrder) {
  const ImageSet wanted = pictures_of({"a.jpg", "b.jpg", "c.jpg"}, {1, 2, 3});
  const LabelledImages known = labelled({"c.jpg", "x.jpg", "a.jpg", "b.jpg"}, {9, 9, 9, 9}, {2, 0, 0, 1});
  const MatchedLabels matched = match(wanted, known);
  EXPECT_EQ(matched.labels.values, (std::vector<int64_t>{0, 1, 2}));
  EXPECT_EQ(matched.labels.classes, (Strings{"cat", "dog", "owl"}));
  EXPECT_EQ(matched.by, LabelMatch::kSameNames);
}

TEST(MatchLabels, ContentFindsRenamedCopies) {
  const ImageSet wanted = pictures_of({"p/1.jpg", "p/2.jpg", "p/3.jpg", "p/4.jpg"}, {10, 20, 30, 10});
  // The file names of the copy occur in the target, for other pictures.
  const LabelledImages known =
      labelled({"cat/1.jpg", "dog/2.jpg", "dog/4.jpg", "owl/3.jpg"}, {30, 10, 10, 20}, {0, 1, 1, 2});
  const MatchedLabels matched = match(wanted, known);
  EXPECT_EQ(matched.labels.values, (std::vector<int64_t>{1, 2, 0, 1}));
  EXPECT_EQ(matched.by, LabelMatch::kContent);
}

TEST(MatchLabels, ContentOfSetsThatAreDecodedOnDemand) {
  ImageSet wanted = pictures_of({"a", "b"}, {10, 20});
  wanted.read = [pixels = std::exchange(wanted.pixels, {})](int64_t i, uint8_t* to) {
    std::copy_n(pixels.data() + 3 * i, 3, to);
  };
  EXPECT_EQ(match(wanted, labelled({"x", "y"}, {20, 10}, {0, 1})).labels.values, (std::vector<int64_t>{1, 0}));
}

TEST(MatchLabels, FileNamesFindCopiesWithOtherPixels) {
  const LabelledImages folders = labelled({"l/cat/2.jpg", "l/dog/1.jpg"}, {0, 0}, {0, 1});
  const ImageSet flat = pictures_of({"p/1.jpg", "p/2.jpg"}, {10, 20});
  for (const bool loaded : {true, false}) {
    const MatchedLabels matched = match(flat, folders, loaded);
    EXPECT_EQ(matched.labels.values, (std::vector<int64_t>{1, 0}));
    EXPECT_EQ(matched.by, LabelMatch::kFileNames);
  }
  // Every class folder has a frame 1, so that paths must tell them apart.
  const LabelledImages frames = labelled({"l/x/cat/1.jpg", "l/x/dog/1.jpg"}, {0, 0}, {0, 1});
  EXPECT_EQ(match(pictures_of({"p/dog/1.jpg", "p/cat/1.jpg"}, {1, 2}), frames).labels.values,
            (std::vector<int64_t>{1, 0}));
}

TEST(MatchLabels, CopyWithEqualPicturesKeepsTheirOrder) {
  const ImageSet wanted = pictures_of({"a.idx[0]", "a.idx[1]"}, {7, 7});
  EXPECT_EQ(match(wanted, labelled({"b.idx[0]", "b.idx[1]"}, {7, 7}, {0, 1})).labels.values,
            (std::vector<int64_t>{0, 1}));
}

TEST(MatchLabels, RefusesOtherPictures) {
  struct Case {
    const char* what;
    ImageSet wanted;
    LabelledImages known;
    const char* sentence;
  };
  const Case cases[] = {
      {"other names and pixels", pictures_of({"p/1.jpg", "p/2.jpg"}, {10, 20}), labelled({"l/3.jpg"}, {30}, {0}),
       "labels has no label for 2 of the 2 pictures of photos, by name or content, first p/1.jpg; give the labels of "
       "the same pictures"},
      {"one is missing", pictures_of({"p/1.jpg", "p/2.jpg"}, {10, 20}), labelled({"l/1.jpg"}, {10}, {0}),
       "no label for 1 of the 2 pictures of photos, by name or content, first p/2.jpg"},
      {"positions in other files", pictures_of({"a/t.idx[0]", "a/t.idx[1]"}, {1, 2}),
       labelled({"b/t.idx[0]", "b/t.idx[1]"}, {3, 4}, {0, 1}), "no label for 2 of the 2"},
      {"one name, two labels", pictures_of({"1.jpg", "2.jpg"}, {10, 20}),
       labelled({"1.jpg", "1.jpg", "2.jpg"}, {1, 2, 3}, {0, 2, 1}),
       "several labels for 1.jpg of photos, such as cat and owl"},
      {"equal pictures, two labels", pictures_of({"p/1.jpg", "p/2.jpg"}, {10, 20}),
       labelled({"l/a.jpg", "l/b.jpg", "l/c.jpg"}, {10, 10, 20}, {0, 2, 1}),
       "labels has several labels for p/1.jpg of photos, such as cat and owl; give each picture one label"},
      {"ambiguous file names", pictures_of({"p/1.jpg", "q/1.jpg"}, {10, 20}),
       labelled({"l/cat/1.jpg", "l/dog/1.jpg"}, {1, 2}, {0, 1}), "no label for 2 of the 2"},
  };
  for (const Case& bad : cases)
    EXPECT_THAT(test::message_of<InputError>([&] { match(bad.wanted, bad.known); }), HasSubstr(bad.sentence))
        << bad.what;
}

}  // namespace
}  // namespace tributary
