#include "tributary/base/class_names.h"

#include <gtest/gtest.h>

namespace tributary {
namespace {

using Indices = std::vector<int64_t>;

TEST(ClassNames, CaseCountsOnlyWhereNamesDifferInNothingElse) {
  EXPECT_EQ(class_indices({"Mug", "pen"}, {"PEN", "mug"}), (Indices{1, 0}));
  EXPECT_EQ(class_indices({"a", "A"}, {"A", "a"}), (Indices{1, 0}));
  EXPECT_EQ(class_indices({"Mug"}, {"mug", "MUG"}), (Indices{-1}));
  EXPECT_EQ(class_indices({"mug", "cup"}, {"mug"}), (Indices{0, -1}));
}

TEST(ClassNames, LinesOfOtherEditorsAreRead) {
  EXPECT_EQ(class_lines("\xef\xbb\xbf"
                        "dog\r\n\r\n tabby cat\t\nowl"),
            (std::vector<std::string>{"dog", "", "tabby cat", "owl"}));
  EXPECT_TRUE(class_lines("").empty());
}

TEST(ClassNames, NumbersFromZeroAreNoNames) {
  EXPECT_TRUE(are_numbered({"0", "1", "2"}));
  EXPECT_FALSE(are_numbered({"1", "2"}));
  EXPECT_FALSE(are_numbered({"0", "mug"}));
}

}  // namespace
}  // namespace tributary
