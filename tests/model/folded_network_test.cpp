// Folded networks compute what the layers compute one by one.
#include "tributary/model/folded_network.h"

#include <gtest/gtest.h>

#include "tests/support/models.h"
#include "tests/support/tensors.h"
#include "tributary/model/layered_source.h"

namespace tributary {
namespace {

// Running statistics and affine parameters as after training.
void train(Network& network) {
  torch::NoGradGuard no_grad;
  uint64_t seed = 1;
  for (BatchNorm* norm : network.batch_norms()) {
    const int64_t channels = norm->weight.size(0);
    norm->weight.copy_(1 + 0.2 * test::normals({channels}, ++seed));
    norm->bias.copy_(0.3 * test::normals({channels}, ++seed));
    norm->running_mean.copy_(0.3 * test::normals({channels}, ++seed));
    norm->running_var.copy_(0.5 + test::normals({channels}, ++seed).square());
  }
}

TEST(FoldedNetwork, EqualsTheLayersOneByOne) {
  torch::NoGradGuard no_grad;
  for (const std::string architecture :
       {"lenet", "dtn", "resnet50", "mobilenet_v2", "densenet121", "efficientnet_b0"}) {
    SourceModel model(test::small_info(architecture), Random(1));
    Network& network = model.layered()->network();
    train(network);
    const Tensor x = test::normals({2, 3, 32, 32}, 5);
    const Tensor wanted = network.forward(x, nullptr);
    const Tensor found = FoldedNetwork(network, torch::kFloat32).forward(x);
    EXPECT_LT((found - wanted).abs().max().item<double>(), 1e-4 * wanted.abs().max().item<double>()) << architecture;
  }
}

TEST(FoldedNetwork, HasOneStepPerConvolutionOfAResNet) {
  SourceModel model(test::small_info("resnet50"), Random(1));
  // 53 convolutions, the first pooling, the mean and the flattening; 4 projections take in the sum of their block.
  EXPECT_EQ(FoldedNetwork(model.layered()->network(), torch::kFloat32).steps(), 56);
}

TEST(FoldedNetwork, KeepsWhatItCannotFold) {
  Network network;  // a BatchNorm first, and a convolution that two layers read
  const Random random(3);
  network.then(BatchNorm(3));
  const int conv = network.then(Conv2d({3, 4, 3, 1, 1}, Start::kDefault, random));
  const int normed = network.add(BatchNorm(4), {conv});
  network.add(Add{}, {conv, normed});
  network.then(Relu{});
  const FoldedNetwork folded(network, torch::kFloat32);
  EXPECT_EQ(folded.steps(), 5);
  torch::NoGradGuard no_grad;
  const Tensor x = test::normals({2, 3, 8, 8}, 5);
  EXPECT_TRUE(torch::equal(folded.forward(x), network.forward(x, nullptr)));
}

}  // namespace
}  // namespace tributary
