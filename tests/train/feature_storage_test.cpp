#include "tributary/train/feature_storage.h"

#include <gmock/gmock.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <torch/cuda.h>

#include <limits>

#include "tests/support/methods.h"
#include "tests/support/models.h"
#include "tests/support/temp_dir.h"
#include "tests/support/tensors.h"
#include "tributary/adapt/feature_rows.h"
#include "tributary/adapt/prototypes.h"
#include "tributary/base/error.h"
#include "tributary/methods/baselines.h"
#include "tributary/methods/selective/selective.h"
#include "tributary/methods/shot/centroids.h"
#include "tributary/train/evaluate.h"

namespace tributary {
namespace {

using ::testing::HasSubstr;

constexpr FeatureKind kKinds[] = {FeatureKind::kFloat, FeatureKind::kHalf, FeatureKind::kMapped};
constexpr double kHalfPrecision = 1.0 / 256;  // relative precision of bfloat16

// Features as evaluation stores them, appended in batches of three.
Tensor stored(FeatureKind kind, const Tensor& features) {
  FeatureStorage storage(kind, features.size(0), features.size(1), torch::kCPU);
  for (const Tensor& batch : features.split(3)) storage.append(batch);
  return storage.all();
}

// Sets an environment variable for the duration of a test.
class Environment {
 public:
  Environment(const char* name, const std::string& value) : name_(name) {
    if (const char* before = getenv(name)) before_ = before;
    setenv(name, value.c_str(), 1);
  }
  ~Environment() { before_.empty() ? unsetenv(name_) : setenv(name_, before_.c_str(), 1); }

 private:
  const char* name_;
  std::string before_;
};

TEST(FeatureStorage, ChoosesTheFirstKindThatFits) {
  // 1,000 rows of 512 numbers are 2,048,000 bytes as float32 and half of that as bfloat16.
  EXPECT_EQ(feature_kind(1000, 512, 2048000), FeatureKind::kFloat);
  EXPECT_EQ(feature_kind(1000, 512, 2047999), FeatureKind::kHalf);
  EXPECT_EQ(feature_kind(1000, 512, 1024000), FeatureKind::kHalf);
  EXPECT_EQ(feature_kind(1000, 512, 1023999), FeatureKind::kMapped);
  // A hundred million pictures and five sources with 256 features: 512 GB, 256 GB.
  EXPECT_EQ(feature_kind(100000000, 1280, 512000000000), FeatureKind::kFloat);
  EXPECT_EQ(feature_kind(100000000, 1280, 140000000000), FeatureKind::kMapped);
}

TEST(FeatureStorage, DefaultsToHalfOfTheFreeMemory) {
  EXPECT_EQ(feature_budget(12345, torch::kCPU), 12345);
  EXPECT_EQ(feature_budget(0, torch::kCPU), 0);
  const int64_t half = feature_budget(-1, torch::kCPU);
  EXPECT_GT(half, 1 << 20);
  EXPECT_LT(half, std::numeric_limits<int64_t>::max() / 2) << "the host's memory is finite";
}

TEST(FeatureStorage, ReturnsTheAppendedRows) {
  const Tensor features = test::normals({20, 7}, 1);
  EXPECT_TENSOR_EQ(stored(FeatureKind::kFloat, features), features);
  EXPECT_TENSOR_EQ(stored(FeatureKind::kMapped, features), features);
  const Tensor half = stored(FeatureKind::kHalf, features);
  EXPECT_EQ(half.scalar_type(), torch::kBFloat16);
  EXPECT_LE(((half.to(torch::kFloat32) - features) / features).abs().max().item<double>(), kHalfPrecision);
  for (const FeatureKind kind : kKinds) {
    const Tensor rows = stored(kind, features);
    EXPECT_TENSOR_EQ(rows_as_float(rows, 5, 9, torch::kCPU), rows.slice(0, 5, 9).to(torch::kFloat32));
    EXPECT_TENSOR_EQ(chosen_rows_as_float(rows, test::indices({19, 0}), torch::kCPU),
                     at::stack({rows[19], rows[0]}).to(torch::kFloat32));
  }
}

TEST(FeatureStorage, UsesUnnamedFilesInTheTemporaryFolder) {
  const test::TempDir folder;
  const Environment chosen("TMPDIR", folder.path());
  EXPECT_EQ(folder_for_features(), folder.path());
  const Tensor rows = stored(FeatureKind::kMapped, test::normals({20, 7}, 1));
  EXPECT_TRUE(std::filesystem::is_empty(folder.path())) << "the file has no name";
  const Environment none("TMPDIR", folder / "missing");
  EXPECT_THAT(test::message_of<WorkError>([&] { stored(FeatureKind::kMapped, rows); }),
              HasSubstr("missing: cannot create a temporary file for features (No such file"));
}

TEST(FeatureStorage, ReportsAFullDisk) {
  const test::TempDir folder;
  rlimit before = {};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit small = {1 << 20, before.rlim_max};
  const auto handler = signal(SIGXFSZ, SIG_IGN);  // exceeding the limit is then an error like a full disk
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  const std::string message = test::message_of<WorkError>([&] { mapped_rows(1024, 1024, folder.path()); });
  setrlimit(RLIMIT_FSIZE, &before);
  signal(SIGXFSZ, handler);
  EXPECT_THAT(message, HasSubstr(folder.path() + ": no space for 4.0 MiB of features (File too large); set TMPDIR to"));
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(FeatureStorage, MatchesThePrototypesOfPlainFeatures) {
  // 34,000 x 1,000 numbers are more than one block.
  const int64_t repeats = 340, classes = 3;
  const Tensor features = test::normals({100, 1000}, 1).repeat({repeats, 1});
  const Tensor label = torch::arange(100).remainder(classes - 1).repeat({repeats});  // the last class is empty
  const Tensor probabilities = test::normals({100, classes}, 2).softmax(1).repeat({repeats, 1});
  const PrototypeOptions options{.temperature = 100};
  const Tensor plain = class_prototypes(features, label, probabilities, EmptyClass::kWeighted);
  const Tensor plain_posterior = refined_posterior(features, label, probabilities, options);
  const Tensor plain_labels = centroid_labels(with_one_normalised(features), probabilities);
  for (const FeatureKind kind : {FeatureKind::kHalf, FeatureKind::kMapped}) {
    FeatureStorage storage(kind, features.size(0), features.size(1), torch::kCPU);
    storage.append(features);
    const double tolerance = kind == FeatureKind::kHalf ? kHalfPrecision : 1e-5;
    const Tensor kept = storage.all();
    EXPECT_TENSOR_NEAR(class_prototypes(kept, label, probabilities, EmptyClass::kWeighted), plain, tolerance);
    EXPECT_TENSOR_NEAR(refined_posterior(kept, label, probabilities, options), plain_posterior, 2 * tolerance);
    const Tensor labels = centroid_labels_in_blocks(kept, probabilities);
    EXPECT_GE((labels == plain_labels).to(torch::kFloat64).mean().item<double>(),
              kind == FeatureKind::kHalf ? 0.98 : 1.0);
  }
}

// Pictures whose features may take a fraction of their float32 size.
ImageSet with_feature_budget(int64_t pictures, int64_t joint_width, double part) {
  ImageSet images = test::noise_pictures(pictures);
  images.feature_bytes = static_cast<int64_t>(part * static_cast<double>(pictures * joint_width * 4));
  return images;
}

struct Recorder : Observer {
  std::vector<int64_t> confident;
  std::vector<Tensor> probabilities;
  std::vector<torch::ScalarType> types;
  void on_round(const RoundEvent& event) override {
    confident.push_back(event.trained ? event.trained->confident.size(0) : event.initial_confident);
    probabilities.push_back(event.probabilities);
    types.push_back(event.features.front().scalar_type());
  }
};

constexpr double kParts[] = {1, 0.5, 0.1};  // float32, bfloat16, a file

TEST(FeatureStorage, EvaluationStaysWithinTheBudget) {
  Ensemble ensemble = test::small_ensemble({"lenet", "lenet"});
  const auto outputs = [&](double part) {
    const ImageSet images = with_feature_budget(30, 512, part);
    return evaluate(ensemble.sources, DeviceImages(images, torch::kCPU));
  };
  const std::vector<Outputs> plain = outputs(1), half = outputs(0.5), mapped = outputs(0.1);
  EXPECT_FALSE(plain[0].in_blocks);
  EXPECT_TRUE(half[0].in_blocks);
  EXPECT_TRUE(mapped[0].in_blocks);
  for (size_t j = 0; j < 2; ++j) {
    EXPECT_EQ(half[j].features.scalar_type(), torch::kBFloat16);
    EXPECT_TENSOR_EQ(half[j].features, plain[j].features.to(torch::kBFloat16));
    EXPECT_TENSOR_EQ(mapped[j].features, plain[j].features);
    EXPECT_TENSOR_EQ(half[j].logits, plain[j].logits);
    EXPECT_TENSOR_EQ(mapped[j].logits, plain[j].logits);
  }
}

// The events of a short adaptation with that fraction of feature memory.
Recorder adapted(double part, torch::Device device) {
  Ensemble ensemble = test::small_ensemble({"lenet", "lenet"});
  ensemble.to(device);
  SelectiveOptions options;
  options.rounds = 2;
  options.inner_epochs = 1;
  options.batch = 8;
  options.lambda_alpha = 1;
  options.aggregation.steps = 20;
  Recorder recorder;
  SelectiveSelfTraining(options).adapt(ensemble, with_feature_budget(30, 512, part), recorder);
  return recorder;
}

TEST(FeatureStorage, HostFeaturesServeAGpu) {
  if (!torch::cuda::is_available()) GTEST_SKIP() << "skipped: no GPU";
  const torch::Device gpu(torch::kCUDA, 0);
  const Tensor features = test::normals({20, 7}, 1), label = torch::arange(20).remainder(3).to(gpu);
  const Tensor probabilities = test::normals({20, 3}, 2).softmax(1).to(gpu);
  const Tensor plain = refined_posterior(features.to(gpu), label, probabilities, {});
  for (const FeatureKind kind : kKinds) {
    FeatureStorage storage(kind, 20, 7, gpu);
    for (const Tensor& batch : features.to(gpu).split(3)) storage.append(batch);
    EXPECT_EQ(storage.all().is_cpu(), kind == FeatureKind::kMapped);
    EXPECT_TENSOR_NEAR(refined_posterior(storage.all(), label, probabilities, {}).cpu(), plain.cpu(), 1e-2);
  }
  for (const double part : kParts) {
    const Recorder recorder = adapted(part, gpu);
    EXPECT_EQ(recorder.confident.back(), 30);
    EXPECT_TRUE(recorder.probabilities.back().isfinite().all().item<bool>());
  }
}

TEST(FeatureStorage, AdaptationMatchesFeaturesInMemory) {
  const Recorder plain = adapted(kParts[0], torch::kCPU), half = adapted(kParts[1], torch::kCPU),
                 mapped = adapted(kParts[2], torch::kCPU);
  EXPECT_EQ(plain.types.back(), torch::kFloat32);
  EXPECT_EQ(half.types.back(), torch::kBFloat16);
  EXPECT_EQ(half.confident, plain.confident);
  EXPECT_EQ(mapped.confident, plain.confident);
  EXPECT_TENSOR_EQ(mapped.probabilities.back(), plain.probabilities.back());
  EXPECT_TENSOR_EQ(half.probabilities.front(), plain.probabilities.front());
}

TEST(FeatureStorage, WorksWithTheComparedMethods) {
  for (const MethodEntry& method :
       {shot_method(), decision_method(), caida_method(), nrc_method(), aad_method(), cowa_method()}) {
    std::vector<Tensor> last;
    for (const double part : kParts) {
      Ensemble ensemble = test::small_ensemble({"lenet", "lenet"});
      Recorder recorder;
      method.make(test::quick())->adapt(ensemble, with_feature_budget(30, 512, part), recorder);
      last.push_back(recorder.probabilities.back());
    }
    EXPECT_TRUE(last[1].isfinite().all().item<bool>()) << method.name;
    EXPECT_LE(test::distance(last[2], last[0]), 1e-4) << method.name;
  }
}

}  // namespace
}  // namespace tributary
