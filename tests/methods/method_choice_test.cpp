#include "tributary/methods/method_choice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace tributary {
namespace {

using testing::HasSubstr;

struct Chosen {
  OptionTable table;
  MethodChoice choice;

  explicit Chosen(const std::string& toml) {
    choice.declare(table);
    table.read_toml_text(toml, "test.toml");
    choice.resolve();
  }
};

TEST(Registry, HasEveryMethodOnceAndOursLast) {
  std::set<std::string> names;
  for (const MethodEntry& entry : registered_methods()) EXPECT_TRUE(names.insert(entry.name).second) << entry.name;
  EXPECT_EQ(names.size(), 11u);
  const MethodEntry ours = registered_methods().back();
  EXPECT_EQ(ours.name, "selective");
  EXPECT_EQ(ours.oracle->name, "selective-oracle");
  for (const MethodEntry& entry : registered_methods()) EXPECT_EQ(entry.is_own, entry.name == ours.name) << entry.name;
}

TEST(MethodChoice, PassesOnCommonOptionsOnlyIfTheyAreGiven) {
  const Chosen unset("[adapt]\nmethod = \"shot\"\n");
  EXPECT_EQ(unset.choice.common().batch, 0);
  EXPECT_LT(unset.choice.common().rate_bottleneck, 0);
  EXPECT_EQ(unset.choice.batch(), 64);
  EXPECT_THAT(unset.table.to_toml(), HasSubstr("\nbatch = 64\n"));
  const Chosen given("[adapt]\nmethod = \"shot\"\nbatch = 16\nrate_bottleneck = 0.5\n");
  EXPECT_EQ(given.choice.common().batch, 16);
  EXPECT_EQ(given.choice.common().rate_bottleneck, 0.5);
}

TEST(MethodChoice, AppliesPresetsBelowGivenValues) {
  const Chosen preset("[adapt]\nvariant = \"paper\"\nbenchmark = \"office-31\"\nrounds = 7\nablations = [\"mixup\"]\n");
  const std::string text = preset.table.to_toml();
  EXPECT_THAT(text, HasSubstr("\nbatch = 32\n"));
  EXPECT_THAT(text, HasSubstr("\nlambda_ce = 0.1\n"));
  EXPECT_THAT(text, HasSubstr("\nrate_backbone = 0.01\n"));
  EXPECT_THAT(text, HasSubstr("\nrounds = 7\n"));
  EXPECT_THAT(text, HasSubstr("\nmixup = false\n"));
}

TEST(MethodChoice, RejectsUnknownMethodsAndMissingOracles) {
  EXPECT_THROW(Chosen("[adapt]\nmethod = \"magic\"\n"), InputError);
  EXPECT_THROW(Chosen("[adapt]\nmethod = \"shot\"\n").choice.require_oracle(), InputError);
  Chosen("[adapt]\nmethod = \"selective\"\n").choice.require_oracle();
}

}  // namespace
}  // namespace tributary
