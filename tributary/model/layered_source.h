// A source of our own layers: backbone F, bottleneck B or none, classifier C (spec 10).
#pragma once

#include <optional>

#include "tributary/model/backbone.h"
#include "tributary/model/sharded_pass.h"
#include "tributary/model/source_body.h"

namespace tributary {

struct Bottleneck {
  Linear linear;
  BatchNorm bn;
};

using Classifier = std::variant<WeightNormLinear, Linear>;

// W and b of an affine map x -> W x + b.
struct Affine {
  Tensor weight, bias;
};

class LayeredSource : public SourceBody {
 public:
  // Fresh weights as spec 10 has them, drawn from `init`; without bottleneck `info.feature_width` must be the
  // backbone's. `classifier` is how a weight-normalised classifier starts.
  LayeredSource(const ModelInfo& info, const Init& init, Start classifier);

  Tensor features(const Tensor& x, DropoutStream* dropout_stream) override {
    return bottleneck_features(backbone_features(x, dropout_stream), dropout_stream);
  }
  // The two halves of it: F(x), [n, backbone_width()], which ranks may share, and B.
  Tensor backbone_features(const Tensor& x, DropoutStream* dropout_stream);
  Tensor bottleneck_features(const Tensor& flat, DropoutStream* dropout_stream);
  // F(x) by this process alone.
  Tensor backbone_features_alone(const Tensor& x, DropoutStream* dropout_stream);
  // F(x) by sources, in two parts, so that the ranks can do their passes side by side: its owner does the pass alone
  // and hands in the result, the others nothing.
  Tensor exchange(const Tensor& own, const Tensor& x, DropoutStream* dropout_stream);
  // From here on ranks share the backbone's passes.
  void shard(const Sharding& sharding);
  const Sharding& sharding() const { return sharding_; }
  // From here on the backbone takes at most so many pictures at once, for want of memory (pieces.h); 0: all.
  void set_micro_batch(int64_t pictures) { micro_batch_ = pictures; }
  int64_t micro_batch() const { return micro_batch_; }
  Tensor classify(const Tensor& phi) const override;
  TensorList backbone() const override;
  TensorList bottleneck() const override;
  TensorList classifier() const override;

  const Network& network() const { return backbone_.network; }
  Network& network() { return backbone_.network; }
  int64_t backbone_width() const { return backbone_.width; }
  // In evaluation the bottleneck, its BatchNorm and the classifier are one affine map of the backbone's features: this
  // one, in float32.
  Affine folded_head() const;

 private:
  // What a training pass of the backbone draws.
  const PassDraws& draws(const Tensor& x);

  Backbone backbone_;
  std::optional<Bottleneck> bottleneck_;
  Classifier classifier_;
  double dropout_;
  int64_t micro_batch_ = 0;
  Sharding sharding_;
  std::optional<PassDraws> draws_;
};

}  // namespace tributary
