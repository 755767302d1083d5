#include "tributary/methods/method_choice.h"

#include <fmt/format.h>
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

// The message for flags "key=value key=value" above a TOML text.
std::string refusal(const std::string& toml, const std::vector<std::pair<std::string, std::string>>& flags) {
  OptionTable table;
  MethodChoice choice;
  choice.declare(table);
  table.read_toml_text(toml, "test.toml");
  for (const auto& [key, value] : flags) table.set_flag("", key, value);
  try {
    choice.resolve();
  } catch (const InputError& error) {
    return error.what();
  }
  return {};
}

TEST(MethodChoice, RefusesOptionsThatTheMethodDoesNotUse) {
  EXPECT_EQ(refusal("", {{"method", "shot"}, {"shot_beta", "0.2"}, {"epochs", "2"}, {"augment_shift", "2"}}), "");
  EXPECT_EQ(refusal("", {{"method", "shot"}, {"aad_alpha", "2"}}),
            "--aad-alpha has no effect with --method shot; only aad uses it");
  EXPECT_EQ(refusal("", {{"method", "shot"}, {"rounds", "2"}}),
            "--rounds has no effect with --method shot; only selective uses it; its length is set with --epochs");
  EXPECT_THAT(refusal("", {{"epochs", "2"}}),
              HasSubstr("--epochs has no effect with --method selective; only bait, sfda, shot, ma, decision"));
  EXPECT_THAT(refusal("", {{"epochs", "2"}}), HasSubstr("; its length is set with --rounds and --inner-epochs"));
  EXPECT_THAT(refusal("", {{"method", "source-ens"}, {"augment_shift", "2"}}),
              testing::AllOf(HasSubstr("--augment-shift has no effect"), HasSubstr("selective use it")));
  EXPECT_THAT(refusal("", {{"method", "shot"}, {"leave_dominated", "false"}}),
              HasSubstr("--no-leave-dominated has no effect with --method shot"));
  EXPECT_THAT(refusal("", {{"method", "source-ens"}, {"batch", "8"}}), HasSubstr("--batch has no effect"));
  EXPECT_THAT(refusal("[shot]\nshot_beta = 0.2\n", {}), HasSubstr("shot.shot_beta in test.toml has no effect"));
}

TEST(MethodChoice, TheSourceEnsembleRefusesEveryAugmentation) {
  OptionTable table;
  Augmentation augmentation;
  declare(table, "adapt", augmentation);
  ASSERT_GT(table.options().size(), 5u);
  for (const Option& option : table.options())
    EXPECT_THAT(refusal("", {{"method", "source-ens"}, {option.key, option.key == "augment" ? "strong" : "0.5"}}),
                HasSubstr("has no effect with --method source-ens"))
        << option.key;
}

TEST(MethodChoice, AcceptsTheConfigurationOfItsOwnRuns) {
  // It records every option, those of other methods with their defaults or the values of a preset.
  for (const char* method : {"shot", "selective", "source-ens"}) {
    const Chosen run(fmt::format("[adapt]\nmethod = \"{}\"\nbenchmark = \"office-31\"\n", method));
    EXPECT_EQ(refusal(run.table.to_toml(), {}), "") << method;
  }
}

TEST(MethodChoice, StoredAblationsKeepTheirMeaning) {
  const Chosen stored("[adapt]\nablations = [\"information\"]\n");
  EXPECT_THAT(stored.table.to_toml(), HasSubstr("\nablations = [\"information-all\"]\n"));
  EXPECT_THAT(stored.table.to_toml(), HasSubstr("\ninformation_set = \"all\"\n"));
  EXPECT_TRUE(differences("[adapt]\nablations = [\"information\"]\n",
                          Configuration("[adapt]\nablations = [\"information-all\"]\n", {}, "",
                                        stored.table.configuration().renamed_values))
                  .empty());
  EXPECT_THAT(refusal("", {{"ablations", "information"}}), HasSubstr("choose among weights, denoise, information-all"));
  const Chosen left_out("[adapt]\nablations = [\"information-loss\"]\n");
  EXPECT_THAT(left_out.table.to_toml(), HasSubstr("\nlambda_im = 0.0\n"));
}

TEST(MethodChoice, RejectsUnknownMethodsAndMissingOracles) {
  EXPECT_THROW(Chosen("[adapt]\nmethod = \"magic\"\n"), InputError);
  EXPECT_THROW(Chosen("[adapt]\nmethod = \"shot\"\n").choice.require_oracle(), InputError);
  Chosen("[adapt]\nmethod = \"selective\"\n").choice.require_oracle();
}

}  // namespace
}  // namespace tributary
