#include "tributary/model_io/source_spec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/temp_dir.h"
#include "tributary/base/error.h"

namespace tributary {
namespace {

TEST(SourceSpec, OptionsAfterTheFileOverrideThoseOfAllSources) {
  ImportOptions common;
  common.size = 96;
  common.classes = "all.txt";
  const SourceSpec plain = parse_source("runs/a.pth", common);
  EXPECT_EQ(plain.path, "runs/a.pth");
  EXPECT_EQ(plain.options.size, 96);
  EXPECT_FALSE(plain.own_classes);
  const SourceSpec own = parse_source("b.pth:classes=b,c.txt,mean=0.5,0.4,0.3,last-layer=head.fc,name=ward 7", common);
  EXPECT_EQ(own.path, "b.pth");
  EXPECT_EQ(own.options.classes, "b,c.txt");
  EXPECT_EQ(own.options.mean, "0.5,0.4,0.3");
  EXPECT_EQ(own.options.last_layer, "head.fc");
  EXPECT_EQ(own.options.size, 96);
  EXPECT_EQ(own.name, "ward 7");
  EXPECT_TRUE(own.own_classes);
}

TEST(SourceSpec, TrustAfterTheFileNeedsACallerThatTrusts) {
  const std::string text = "b.pt:trust=true";
  EXPECT_THROW(parse_source(text, {}), InputError) << "the text may be of a TOML file";
  ImportOptions common;
  common.trusts_specs = true;
  EXPECT_TRUE(parse_source(text, common).options.trust);
  EXPECT_FALSE(parse_source("b.pt", common).options.trust);
}

TEST(SourceSpec, ExistingPathsAndPlainColonsArePaths) {
  const test::TempDir folder;
  folder.write("a:size=3", "");
  EXPECT_EQ(parse_source(folder / "a:size=3", {}).path, folder / "a:size=3");
  EXPECT_EQ(parse_source("C:weights.pth", {}).path, "C:weights.pth");
}

TEST(SourceSpec, MistakesNameTheSource) {
  const auto message = [](const std::string& text) -> std::string {
    try {
      parse_source(text, {});
    } catch (const InputError& error) {
      return error.what();
    }
    return {};
  };
  EXPECT_EQ(message(""), "the name of a model file is empty; name one");
  EXPECT_THAT(message("a.pth:sise=3"),
              ::testing::HasSubstr("a.pth:sise=3: there is no option 'sise' here; did you mean"));
  EXPECT_THAT(message("a.pth:size=large"), ::testing::HasSubstr("a.pth:size=large: --size large: not allowed"));
}

}  // namespace
}  // namespace tributary
