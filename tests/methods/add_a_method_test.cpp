#include <gtest/gtest.h>

#include "tests/support/models.h"
#include "tributary/base/files.h"
#include "tributary/methods/registry.h"

namespace tributary {

MethodEntry entropy_method();  // examples/method/entropy.cpp

namespace {

TEST(AddAMethod, ExampleMinimisesEntropy) {
  Ensemble ensemble = test::small_ensemble({"lenet", "lenet"});
  struct Entropies : Observer {
    std::vector<double> means;
    void on_round(const RoundEvent& event) override {
      if (event.round > 0) means.push_back(event.means.at("entropy").front());
    }
  } observer;
  MethodOptions options;
  options.epochs = 8;
  options.batch = 16;
  options.rate_bottleneck = 0.05;
  entropy_method().make(options)->adapt(ensemble, test::noise_pictures(32), observer);
  ASSERT_EQ(observer.means.size(), 8u);
  EXPECT_LT(observer.means.back(), observer.means.front());
}

TEST(AddAMethod, PageShowsTheTestedFile) {
  const std::string page = read_text(std::string(TRIBUTARY_SOURCE_DIR) + "/docs/add-a-method.md");
  const std::string file = read_text(std::string(TRIBUTARY_SOURCE_DIR) + "/examples/method/entropy.cpp");
  EXPECT_NE(page.find("```cpp\n" + file + "```"), std::string::npos);
}

}  // namespace
}  // namespace tributary
