#include "tributary/methods/selective/given_prior.h"

#include <gmock/gmock.h>

#include "tests/support/temp_dir.h"
#include "tests/support/tensors.h"
#include "tributary/base/error.h"

namespace tributary {
namespace {

using ::testing::HasSubstr;

const std::vector<std::string> kAnimals = {"cat", "snow goose", "dog"};

TEST(GivenPrior, ReadsSharesOrCountsInAnyOrder) {
  const test::TempDir dir;
  EXPECT_TENSOR_NEAR(read_class_prior(dir.write("p.txt", "dog 2\n\ncat\t5\r\nsnow goose,1"), kAnimals),
                     torch::tensor({.625, .125, .25}), 1e-7);
  EXPECT_TENSOR_NEAR(read_class_prior(dir.write("p.txt", "cat 1\nsnow goose 0\ndog 0\n"), kAnimals),
                     torch::tensor({1., 0., 0.}), 1e-7);
}

TEST(GivenPrior, NamesTheFileAndTheLineOfAnError) {
  const test::TempDir dir;
  const std::string rest = "\nsnow goose 1\ndog 1\n";
  for (const auto& [text, part] : std::vector<std::pair<std::string, std::string>>{
           {"cat", "line 1"},
           {"cat much" + rest, "line 1"},
           {"cat -1" + rest, "line 1"},
           {"cat nan" + rest, "line 1"},
           {"cat inf" + rest, "line 1"},
           {"cat 1\ncow 2" + rest, "line 2: the sources have no class cow"},
           {"cat 1\ncat 2" + rest, "line 2: class cat is named twice"},
           {"cat 1\ndog 1\n", "has no line for class snow goose"},
           {"cat 0\nsnow goose 0\ndog 0\n", "at least one must be positive"},
           {"", "has no line for class cat"}}) {
    const std::string path = dir.write("prior.txt", text);
    const std::string message = test::message_of<InputError>([&, path = path] { read_class_prior(path, kAnimals); });
    EXPECT_THAT(message, HasSubstr(path)) << text;
    EXPECT_THAT(message, HasSubstr(part)) << text;
  }
  EXPECT_THROW(read_class_prior(dir / "missing.txt", kAnimals), InputError);
}

}  // namespace
}  // namespace tributary
