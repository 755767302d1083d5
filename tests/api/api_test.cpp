#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <new>
#include <nlohmann/json.hpp>

#include "tests/run/run_files.h"
#include "tributary/api/plain_errors.h"
#include "tributary/base/files.h"
#include "tributary/method.h"
#include "tributary/tributary.h"

namespace tributary {

MethodEntry entropy_method();  // examples/method/entropy.cpp

namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const Settings kShort = {{"rounds", 1},     {"inner_epochs", 1}, {"leave_dominated", false},
                         {"report", false}, {"threads", 1},      {"device", "cpu"}};

// Two untrained sources and 48 digits, as a file and as a tensor.
class Api : public ::testing::Test {
 protected:
  Settings with(Settings more) const {
    more.insert(more.begin(), kShort.begin(), kShort.end());
    return more;
  }
  std::string bytes(const std::string& run) const { return read_text(folder_ / (run + "/model.safetensors")); }
  // The message of the error that `work` throws.
  template <typename Work>
  static std::string message(Work work) {
    try {
      work();
    } catch (const InputError& error) {
      return error.what();
    }
    return "no InputError";
  }

  test::TempDir folder_;
  std::vector<std::string> sources_ = {test::write_source(folder_, "lenet", 1),
                                       test::write_source(folder_, "lenet", 2)};
  std::string target_ = test::write_digits(folder_, "signs", DigitDomain::kSigns, 48);
  LabelledImages digits_ = make_digits(DigitDomain::kSigns, 48, 1);
  Tensor pixels_ = torch::tensor(digits_.images.pixels, torch::kUInt8).view({48, 32, 32, 3});
};

TEST(WithoutFlags, NamesOptionsAsSettings) {
  EXPECT_EQ(without_flags("start over with --restart"), "start over with restart");
  EXPECT_EQ(without_flags("--max-skipped 2: choose less, or --no-page"), "max_skipped 2: choose less, or page = false");
  EXPECT_EQ(without_flags("a--b and 3 --> 4"), "a--b and 3 --> 4");
  EXPECT_EQ(without_flags("photos/--new does not exist"), "photos/--new does not exist");
  const auto skipped = without_flags(std::vector<SkippedPicture>{{"--a.png", "beyond the limit (--max-megapixels)"}});
  EXPECT_EQ(skipped.front().path, "--a.png");
  EXPECT_EQ(skipped.front().reason, "beyond the limit (max_megapixels)");
}

TEST(PlainErrors, ThoseOfTheFileSystemAndOfLibTorchAreWorkErrors) {
  const std::vector<std::function<void()>> failing = {[] { std::filesystem::rename("/nowhere/a", "/nowhere/b"); },
                                                      [] { TORCH_CHECK(false, "mine"); },
                                                      [] { throw std::bad_alloc(); }};
  for (const auto& work : failing) EXPECT_THROW(with_plain_errors(work), WorkError);
  EXPECT_THROW(with_plain_errors(failing.back()), MemoryError);
}

TEST_F(Api, PicturesInMemoryGiveTheBytesOfTheFile) {
  adapt(sources_, target_, folder_ / "file", kShort);
  adapt(sources_, pixels_, folder_ / "memory", kShort);
  EXPECT_EQ(bytes("file"), bytes("memory"));
  const Tensor turned = pixels_.permute({0, 3, 1, 2}).contiguous().permute({0, 2, 3, 1});  // not contiguous
  adapt(sources_, turned, folder_ / "turned", kShort);
  EXPECT_EQ(bytes("file"), bytes("turned"));
}

TEST_F(Api, PicturesOfAnotherSizeAreResized) {
  const Tensor large = pixels_.repeat_interleave(2, 1).repeat_interleave(2, 2);
  const Model model(sources_, {{"device", "cpu"}});
  EXPECT_EQ(model.predict(large).probabilities.sizes(), (std::vector<int64_t>{48, 10}));
}

TEST_F(Api, ObserversSeeRoundsAndAccuracyIsReported) {
  struct Counting : Observer {
    int64_t rounds = 0, steps = 0;
    void on_round(const RoundEvent&) override { ++rounds; }
    void on_step(const StepEvent&) override { ++steps; }
  } counting;
  const Pictures test = Pictures(pixels_).with_labels(digits_.labels.values);
  const tributary::Run run = adapt(sources_, pixels_, folder_ / "run", kShort, {.observer = &counting, .test = &test});
  EXPECT_EQ(counting.rounds, 2);
  EXPECT_GT(counting.steps, 0);
  EXPECT_EQ(run.rounds().size(), 2U);
  const auto summary = nlohmann::json::parse(run.summary());
  const Evaluation evaluation = run.model().evaluate(test);
  EXPECT_NEAR(evaluation.accuracy, summary.at("accuracy").at("last").get<double>() / 100, 1e-9);
  EXPECT_EQ(evaluation.source_accuracies.size(), 2U);
}

TEST_F(Api, PrintsNothing) {
  ::testing::internal::CaptureStdout();
  ::testing::internal::CaptureStderr();
  const tributary::Run run = adapt(sources_, target_, folder_ / "run", kShort);
  run.model().predict(pixels_);
  run.model().export_onnx(folder_ / "model.onnx");
  run.report(folder_ / "report.html");
  EXPECT_EQ(::testing::internal::GetCapturedStdout(), "");
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
}

TEST_F(Api, ErrorsNameNoFlags) {
  const auto refused = [&](const std::vector<std::string>& sources, const Pictures& target, const Settings& settings) {
    return message([&] { adapt(sources, target, folder_ / "run", settings); });
  };
  const std::vector<std::pair<std::string, std::string>> cases = {
      {refused({}, target_, {}), "no source models"},
      {refused(sources_, "", {}), "path of the target"},
      {refused(sources_, folder_ / "none", {}), "does not exist"},
      {refused({folder_ / "none.pth"}, target_, {}), "no such file"},
      {refused(sources_, target_, {{"rounds", 0}}), "rounds 0"},
      {refused(sources_, target_, {{"roundz", 1}}), "there is no option 'roundz'; did you mean rounds?"},
      {refused(sources_, target_, {{"xyzzy", 1}}), "docs/options.md lists those there are"},
      {refused(sources_, target_, {{"method", "none"}}), "choose one of"},
      {refused(sources_, target_, {{"method", "shot"}, {"rounds", 3}}), "has no effect"},
      {refused(sources_, target_, {{"processes", 2}}), "of the program only"},
      {refused(sources_, pixels_.slice(0, 0, 1), {}), "at least 2"},
      {message([&] { Pictures(pixels_.to(torch::kFloat32)); }), "uint8 [n, height, width, 3]"},
      {message([&] { Pictures(pixels_.flatten()); }), "Byte [147456]"},
      {message([&] { Pictures(pixels_.slice(0, 0, 0)); }), "none of them 0"},
      {message([&] {
         Pictures(pixels_).with_labels({1, 2});
       }),
       "2 labels for 48"},
      {message([&] { Model(std::vector<std::string>()); }), "no models"},
      {message([&] {
         Model(sources_, {{"rule", "weighted_logits"}});
       }),
       "have no weights"},
      {refused({""}, target_, {}), "name of a model file is empty"},
      {message([&] { Model{""}; }), "name of a model file is empty"},
      {message([&] { tributary::Run{folder_ / "nothing"}; }), "nothing does not exist"},
      {message([&] { tributary::Run{sources_[0]}; }), "is no folder"},
      {message([&] { tributary::Run{folder_ / "signs"}; }), "is not a run folder"}};
  for (const auto& [text, part] : cases) {
    EXPECT_THAT(text, HasSubstr(part));
    EXPECT_THAT(text, Not(HasSubstr("--")));
  }
  EXPECT_THROW(adapt(sources_, folder_ / "none", folder_ / "run"), MissingFileError);
  EXPECT_THROW(tributary::Run{folder_ / "nothing"}, MissingFileError);
}

TEST_F(Api, LabelsMustBeClassesOfTheModel) {
  const Pictures wrong = Pictures(pixels_).with_labels(std::vector<int64_t>(48, 10));
  EXPECT_THAT(message([&] { Model(sources_).evaluate(wrong); }),
              HasSubstr("label 10 is none of the model's 10 classes"));
}

TEST_F(Api, ExceptionsOfObserversReachTheCaller) {
  struct Own {};
  struct Throwing : Observer {
    void on_round(const RoundEvent&) override { throw Own(); }
  } throwing;
  EXPECT_THROW(adapt(sources_, target_, folder_ / "run", kShort, {.observer = &throwing}), Own);
}

TEST_F(Api, InterruptsResume) {
  struct Interrupting : Observer {
    void on_step(const StepEvent& event) override {
      if (event.round == 2) std::raise(SIGINT);
    }
  } interrupting;
  const Settings settings = with({{"rounds", 2}, {"save_every", 0.0}});
  static volatile int previous = 0;
  std::signal(SIGINT, [](int) { previous = 1; });
  {
    const InterruptScope scope;
    EXPECT_THROW(adapt(sources_, target_, folder_ / "run", settings, {.observer = &interrupting}), Interrupted);
  }
  EXPECT_EQ(interrupt_signal(), 0);
  std::raise(SIGINT);  // reaches the handler of before
  EXPECT_EQ(previous, 1);
  std::signal(SIGINT, SIG_DFL);
  struct Resumed : RunListener {
    int64_t round = 0;
    void on_resume(int64_t from) override { round = from; }
  } resumed;
  adapt(sources_, target_, folder_ / "run", settings, {.listener = &resumed});
  EXPECT_EQ(resumed.round, 2);
  adapt(sources_, target_, folder_ / "straight", settings);
  EXPECT_EQ(bytes("run"), bytes("straight"));
}

// Registers a method, adapts with it and returns whether all of that worked.
bool registers_and_adapts() {
  const test::TempDir folder;
  register_method(entropy_method);
  bool refused_twice = false;
  try {
    register_method(entropy_method);
  } catch (const InputError& error) {
    refused_twice = std::string(error.what()).starts_with("there is a method called entropy already");
  }
  const Settings settings = {{"method", "entropy"}, {"epochs", 1}, {"report", false}, {"entropy_rate", 0.01}};
  const Run run = adapt({test::write_source(folder, "lenet", 1)},
                        test::write_digits(folder, "signs", DigitDomain::kSigns, 48), folder / "run", settings);
  bool listed = false;
  for (const OptionInfo& option : adaptation_options())
    listed |= option.key == "entropy_rate" && option.method == "entropy";
  return refused_twice && listed && nlohmann::json::parse(run.summary()).at("method") == "entropy";
}

TEST(ApiDeathTest, MethodsRegisterAtRunTime) {
  // In a process of its own, because other tests list the methods.
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(std::exit(registers_and_adapts() ? 0 : 1), ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace tributary
