#include "tributary/data/digits/digits.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "tributary/base/error.h"

namespace tributary {
namespace {

constexpr std::array kDomains = {DigitDomain::kHandwriting, DigitDomain::kPostal, DigitDomain::kTextured,
                                 DigitDomain::kSigns, DigitDomain::kStreet};

uint64_t fnv1a(const std::vector<uint8_t>& bytes) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const uint8_t byte : bytes) hash = (hash ^ byte) * 0x100000001b3;
  return hash;
}

// Means over the pixels of 200 pictures.
struct Statistics {
  double brightness = 0;  // 0..255, mean of the channels
  double colour = 0;      // largest channel minus smallest
  double step = 0;        // change of brightness from one pixel to the next
  double border = 0;      // brightness of the outermost ring of pixels
};

Statistics statistics_of(DigitDomain domain) {
  const ImageSet images = make_digits(domain, 200, 7).images;
  Statistics statistics;
  double pixels = 0;
  double ring = 0;
  for (int64_t i = 0; i < images.size(); ++i) {
    double before = 0;
    for (int at = 0; at < images.height * images.width; ++at) {
      const uint8_t* rgb = images.picture(i) + 3 * at;
      const int y = at / images.width;
      const int x = at % images.width;
      const double bright = (rgb[0] + rgb[1] + rgb[2]) / 3.0;
      statistics.brightness += bright;
      statistics.colour += std::max({rgb[0], rgb[1], rgb[2]}) - std::min({rgb[0], rgb[1], rgb[2]});
      if (x > 0) statistics.step += std::fabs(bright - before);
      if (x == 0 || y == 0 || x == images.width - 1 || y == images.height - 1) {
        statistics.border += bright;
        ++ring;
      }
      before = bright;
      ++pixels;
    }
  }
  return {statistics.brightness / pixels, statistics.colour / pixels, statistics.step / pixels,
          statistics.border / ring};
}

TEST(Digits, AreBitwiseReproducible) {
  // 50 pictures of seed 1. A difference means that some arithmetic is not exactly rounded on this platform: a
  // contracted multiply-add, or a function of libm. Update the values after intended changes.
  const std::array<uint64_t, 5> expected = {0xc8d3d98f1ad7ef96, 0x051df5d2f683c372, 0xec956e88a102edd1,
                                            0x510333d358cd4aee, 0xc6bf14875831ac05};
  for (size_t i = 0; i < kDomains.size(); ++i) {
    EXPECT_EQ(fnv1a(make_digits(kDomains[i], 50, 1).images.pixels), expected[i]) << digit_domain_names()[i];
  }
}

TEST(Digits, SmallSetsArePrefixesOfLargeOnes) {
  for (const DigitDomain domain : kDomains) {
    const LabelledImages few = make_digits(domain, 33, 5);
    const LabelledImages many = make_digits(domain, 100, 5);
    ASSERT_LT(few.images.pixels.size(), many.images.pixels.size());
    EXPECT_TRUE(std::equal(few.images.pixels.begin(), few.images.pixels.end(), many.images.pixels.begin()));
    EXPECT_TRUE(std::equal(few.labels.values.begin(), few.labels.values.end(), many.labels.values.begin()));
    EXPECT_TRUE(std::equal(few.images.names.begin(), few.images.names.end(), many.images.names.begin()));
  }
}

TEST(Digits, DependOnTheSeed) {
  for (const DigitDomain domain : kDomains) {
    const LabelledImages one = make_digits(domain, 40, 1);
    const LabelledImages two = make_digits(domain, 40, 2);
    EXPECT_NE(one.labels.values, two.labels.values);
    for (int64_t i = 0; i < one.images.size(); ++i) {
      for (int64_t j = 0; j < two.images.size(); ++j) {
        EXPECT_FALSE(std::equal(one.images.picture(i), one.images.picture(i + 1), two.images.picture(j)));
      }
    }
  }
}

TEST(Digits, LabelOrderDependsOnTheDomain) {
  EXPECT_NE(make_digits(DigitDomain::kSigns, 40, 1).labels.values,
            make_digits(DigitDomain::kStreet, 40, 1).labels.values);
}

TEST(Digits, AreBalanced) {
  for (const int64_t count : {0, 1, 10, 37, 100}) {
    const Labels labels = make_digits(DigitDomain::kPostal, count, 3).labels;
    ASSERT_EQ(static_cast<int64_t>(labels.values.size()), count);
    std::array<int64_t, 10> seen{};
    for (const int64_t label : labels.values) ++seen.at(static_cast<size_t>(label));
    const auto [least, most] = std::minmax_element(seen.begin(), seen.end());
    EXPECT_LE(*most - *least, 1) << count;
  }
}

TEST(Digits, AreShuffledWithinBlocksOfTen) {
  const std::vector<int64_t> values = make_digits(DigitDomain::kPostal, 100, 3).labels.values;
  std::set<std::vector<int64_t>> orders;
  for (auto at = values.begin(); at != values.end(); at += 10) orders.insert(std::vector<int64_t>(at, at + 10));
  EXPECT_EQ(orders.size(), 10u);
}

TEST(Digits, AreNamedByDomainAndIndex) {
  const LabelledImages digits = make_digits(DigitDomain::kHandwriting, 18, 1);
  EXPECT_EQ(digits.images.names[17], "handwriting[17]");
  EXPECT_EQ(digits.images.height, 32);
  EXPECT_EQ(digits.images.width, 32);
  EXPECT_EQ(static_cast<int64_t>(digits.images.pixels.size()), 18 * digits.images.picture_bytes());
  EXPECT_EQ(digits.labels.classes, (std::vector<std::string>{"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"}));
}

TEST(DigitDomains, AreFoundByName) {
  for (size_t i = 0; i < kDomains.size(); ++i) EXPECT_EQ(digit_domain(digit_domain_names()[i]), kDomains[i]);
}

TEST(DigitDomains, UnknownNamesAreErrorsThatListTheKnownOnes) {
  try {
    digit_domain("mnist");
    FAIL() << "no error";
  } catch (const InputError& error) {
    EXPECT_STREQ(error.what(),
                 "unknown digit domain 'mnist'; choose one of handwriting, postal, textured, signs, street");
  }
}

TEST(DigitDomains, OnlyHandwritingAndPostalAreGrey) {
  EXPECT_EQ(statistics_of(DigitDomain::kHandwriting).colour, 0);
  EXPECT_EQ(statistics_of(DigitDomain::kPostal).colour, 0);
  EXPECT_GT(statistics_of(DigitDomain::kTextured).colour, 30);
  EXPECT_GT(statistics_of(DigitDomain::kSigns).colour, 60);
  const double street = statistics_of(DigitDomain::kStreet).colour;
  EXPECT_GT(street, 10);
  EXPECT_LT(street, 50);
}

TEST(DigitDomains, OnlyHandwritingHasAMargin) {
  const Statistics handwriting = statistics_of(DigitDomain::kHandwriting);
  EXPECT_EQ(std::lround(handwriting.border), 0);
  EXPECT_LT(handwriting.brightness, 60);
  EXPECT_GT(statistics_of(DigitDomain::kPostal).border, 60);
}

TEST(DigitDomains, DifferInRoughness) {
  EXPECT_GT(statistics_of(DigitDomain::kTextured).step, 1.3 * statistics_of(DigitDomain::kSigns).step);
  EXPECT_LT(statistics_of(DigitDomain::kPostal).step, statistics_of(DigitDomain::kHandwriting).step);
}

}  // namespace
}  // namespace tributary
