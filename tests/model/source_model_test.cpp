#include "tributary/model/source_model.h"

#include "tests/support/models.h"
#include "tests/support/tensors.h"
#include "tributary/device/dropout_masks.h"

namespace tributary {
namespace {

int64_t scalars(const NamedTensors& tensors) {
  int64_t count = 0;
  for (const NamedTensor& tensor : tensors) count += tensor.value.numel();
  return count;
}

TEST(SourceModel, DtnHasTheExpectedShapesAndParameterCount) {
  SourceModel model(test::small_info("dtn"), Random(1));
  const Tensor phi = model.features(test::normals({2, 3, 32, 32}, 1));
  EXPECT_EQ(phi.sizes(), torch::IntArrayRef({2, 256}));
  EXPECT_EQ(model.classify(phi).sizes(), torch::IntArrayRef({2, 10}));
  EXPECT_EQ(make_backbone("dtn", {}, Random(1)).width, 4096);
  EXPECT_EQ(scalars(model.backbone_parameters()) + scalars(model.bottleneck_parameters()) +
                scalars(model.classifier_parameters()),
            2082068);
  EXPECT_EQ(scalars(model.classifier_parameters()), 10 + 2560 + 10);
}

TEST(SourceModel, LenetFlattensTo1250) {
  Backbone backbone = make_backbone("lenet", {}, Random(1));
  EXPECT_EQ(backbone.network.forward(test::normals({2, 3, 32, 32}, 1), nullptr).sizes(), torch::IntArrayRef({2, 1250}));
}

TEST(SourceModel, EvaluationIsDeterministicAndChangesNothing) {
  for (const std::string name : {"lenet", "dtn"}) {
    SourceModel model(test::small_info(name), Random(1));
    const Tensor x = test::normals({4, 3, 32, 32}, 2);
    const NamedTensors before = copy_of(model.state());
    EXPECT_TENSOR_EQ(model.features(x), model.features(x));
    const NamedTensors after = model.state();
    for (size_t i = 0; i < before.size(); ++i)
      EXPECT_TRUE(torch::equal(before[i].value, after[i].value)) << before[i].name;
  }
}

TEST(SourceModel, TrainingUsesBatchStatisticsAndUpdatesRunningStatistics) {
  SourceModel model(test::small_info("dtn"), Random(1));
  const Tensor x = test::normals({8, 3, 32, 32}, 2);
  const NamedTensors before = copy_of(model.state());
  DropoutStream dropout_stream(Random(3), torch::kCPU);
  const Tensor phi = model.features(x, &dropout_stream);
  EXPECT_EQ(dropout_stream.drawn().size(), 4u);
  EXPECT_GT(test::distance(phi, model.features(x)), 0.1);
  const NamedTensors after = model.state();
  for (size_t i = 0; i < after.size(); ++i) {
    const bool running = after[i].name.find("running") != std::string::npos;
    const bool counter = after[i].name.find("num_batches_tracked") != std::string::npos;
    EXPECT_EQ(torch::equal(after[i].value, before[i].value), !running && !counter) << after[i].name;
  }
}

TEST(SourceModel, InitialWeightsHaveTheExpectedScale) {
  SourceModel model(test::small_info("dtn"), Random(1));
  for (const NamedTensor& tensor : model.state()) {
    const double largest = tensor.value.abs().max().item<double>();
    if (tensor.name == "backbone.conv_params.0.weight") {
      EXPECT_LE(largest, 1 / std::sqrt(75.0) + 1e-6);
      EXPECT_GT(largest, 0.95 / std::sqrt(75.0));
    } else if (tensor.name == "bottleneck.linear.weight") {
      EXPECT_NEAR(tensor.value.std().item<double>(), std::sqrt(2.0 / (4096 + 256)), 2e-4);
    } else if (tensor.name == "bottleneck.linear.bias" || tensor.name == "classifier.bias") {
      EXPECT_EQ(largest, 0);
    } else if (tensor.name == "classifier.weight_v") {
      EXPECT_LE(largest, 1.0 / 16);
      EXPECT_GT(largest, 0.95 / 16);
    } else if (tensor.name == "classifier.weight_g") {
      EXPECT_NEAR(tensor.value.mean().item<double>(), 0.577, 0.02);
    }
  }
}

TEST(WeightNorm, DependsOnTheDirectionOfVAndTheScaleOfG) {
  WeightNormLinear layer(256, 10, Start::kDefault, Random(4));
  torch::NoGradGuard no_grad;
  EXPECT_TENSOR_NEAR(layer.weight_g, layer.weight_v.norm(2, {1}, true), 1e-6);
  layer.bias.fill_(0.5);
  const Tensor x = test::normals({3, 256}, 5);
  const Tensor z = layer(x);
  layer.weight_v.mul_(7);
  EXPECT_TENSOR_NEAR(layer(x), z, 1e-5);
  layer.weight_g.mul_(7);
  EXPECT_TENSOR_NEAR(layer(x) - 0.5, 7 * (z - 0.5), 1e-4);
}

TEST(WeightNorm, XavierInitialisationIsAnOption) {
  const WeightNormLinear layer(256, 100, Start::kXavier, Random(4));
  EXPECT_NEAR(layer.weight_v.std().item<double>(), std::sqrt(2.0 / 356), 1e-3);
}

TEST(DropoutStream, MasksPreserveTheMeanAndDependOnlyOnTheKey) {
  DropoutStream dropout_stream(Random(1), torch::kCPU);
  const Tensor mask = dropout_stream.mask({1000, 101}, 0.3);
  EXPECT_NEAR(mask.mean().item<double>(), 1, 0.01);
  EXPECT_NEAR((mask == 0).to(torch::kFloat32).mean().item<double>(), 0.3, 0.01);
  EXPECT_TENSOR_EQ(mask, DropoutStream(Random(1), torch::kCPU).mask({1000, 101}, 0.3));
}

TEST(DropoutStream, HostAndDeviceDrawTheSameMasks) {
  DropoutStream host(Random(77), torch::kCPU);
  DropoutStream device(torch::tensor(static_cast<int64_t>(Random(77).key()), torch::kInt64));
  for (const std::vector<int64_t>& shape : {std::vector<int64_t>{5, 7}, {3, 4, 1, 1}, {1000}})
    EXPECT_TENSOR_NEAR(device.mask(shape, 0.3), host.mask(shape, 0.3), 0);
  const Random negative(0x9123456789abcdef);
  EXPECT_TENSOR_NEAR(
      DropoutStream(torch::tensor(static_cast<int64_t>(negative.key()), torch::kInt64)).mask({64, 64}, 0.5),
      DropoutStream(negative, torch::kCPU).mask({64, 64}, 0.5), 0);
}

TEST(DropoutMasks, EqualMasksDrawnOneByOne) {
  const auto used = [](uint64_t key, std::vector<std::vector<int64_t>> shapes) {
    DropoutStream dropout_stream(Random(key), torch::kCPU);
    for (const auto& shape : shapes) dropout_stream.mask(shape, 0.1 * static_cast<double>(shape[0]));
    return dropout_stream;
  };
  const std::vector<std::vector<int64_t>> first = {{5, 7}, {3, 4, 1, 1}}, third = {{1, 9}, {2, 2}, {4, 1}};
  const DropoutMasks masks({used(1, first), used(2, {}), used(3, third)});
  const std::vector<int64_t> keys = {11, -12, -13};
  std::vector<DropoutStream> drawn = masks.draw(torch::tensor(keys));
  ASSERT_EQ(drawn.size(), 3u);
  for (const auto& [index, shapes] : {std::pair(0, first), std::pair(2, third)}) {
    const DropoutStream alone = used(static_cast<uint64_t>(keys[index]), shapes);
    for (size_t k = 0; k < shapes.size(); ++k)
      EXPECT_TENSOR_EQ(drawn[index].mask(shapes[k], 0.1 * static_cast<double>(shapes[k][0])), alone.drawn()[k]);
  }
  EXPECT_THROW(drawn[1].mask({2}, 0.5), std::logic_error) << "draws beyond the prepared masks";
}

TEST(DropoutStream, NormalDrawsAreNormalAndEqualThoseOfDropoutMasks) {
  DropoutStream host(Random(5), torch::kCPU);
  host.mask({3, 3}, 0.5);
  const Tensor numbers = host.normal({200, 101});
  EXPECT_NEAR(numbers.mean().item<double>(), 0, 0.02);
  EXPECT_NEAR(numbers.std().item<double>(), 1, 0.02);
  EXPECT_NEAR((numbers.abs() > 1.959964).to(torch::kFloat64).mean().item<double>(), 0.05, 0.006);
  DropoutStream device(torch::tensor(static_cast<int64_t>(Random(5).key()), torch::kInt64));
  EXPECT_TENSOR_EQ(device.mask({3, 3}, 0.5), host.drawn()[0]);
  EXPECT_TENSOR_NEAR(device.normal({200, 101}), numbers, 1e-6);
  std::vector<DropoutStream> prepared =
      DropoutMasks({host}).draw(torch::tensor({static_cast<int64_t>(Random(5).key())}));
  EXPECT_TENSOR_EQ(prepared[0].mask({3, 3}, 0.5), host.drawn()[0]);
  EXPECT_TENSOR_NEAR(prepared[0].normal({200, 101}), numbers, 1e-6);
}

TEST(DropoutStream, ConcatenatedBatchesGetTheMasksOfSeparatePasses) {
  DropoutStream first(Random(1), torch::kCPU), second(Random(2), torch::kCPU);
  DropoutStream both({{&first, 2}, {&second, 3}}, torch::kCPU);
  const Tensor mask = both.mask({5, 7, 1, 1}, 0.4), normal = both.normal({5, 3});
  int64_t start = 0;
  for (const auto& [key, count] : {std::pair(1, 2), std::pair(2, 3)}) {
    DropoutStream alone(Random(static_cast<uint64_t>(key)), torch::kCPU);
    EXPECT_TENSOR_EQ(mask.narrow(0, start, count), alone.mask({count, 7, 1, 1}, 0.4));
    EXPECT_TENSOR_EQ(normal.narrow(0, start, count), alone.normal({count, 3}));
    start += count;
  }
}

TEST(DropoutStream, QuietStreamDropsNothing) {
  EXPECT_TENSOR_EQ(DropoutStream::quiet(torch::kCPU).mask({4, 5}, 0.9), torch::ones({4, 5}));
}

TEST(Architecture, UnknownNameIsRejectedWithAListOfKnownNames) {
  try {
    architecture("alexnet");
    FAIL();
  } catch (const std::exception& error) {
    EXPECT_EQ(std::string(error.what()).find("there is no architecture 'alexnet'; choose one of: lenet, dtn, resnet18"),
              0u);
  }
}

}  // namespace
}  // namespace tributary
