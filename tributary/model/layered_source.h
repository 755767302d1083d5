// A source model of our own layers: backbone F, optional bottleneck B, classifier C.
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

// The affine map x -> W x + b.
struct Affine {
  Tensor weight;  // float32 [out, in]
  Tensor bias;    // float32 [out]
};

class LayeredSource : public SourceBody {
 public:
  // Draws the initial weights from `init`. Without a bottleneck, `info.feature_width` must be the backbone's width.
  // `classifier` is the initialisation of a weight-normalised classifier.
  LayeredSource(const ModelInfo& info, const Init& init, Start classifier);

  Tensor features(const Tensor& x, DropoutStream* dropout_stream) override {
    return bottleneck_features(backbone_features(x, dropout_stream), dropout_stream);
  }
  // The two halves of features(): F(x), [n, backbone_width()], which may be sharded over ranks, and B.
  Tensor backbone_features(const Tensor& x, DropoutStream* dropout_stream);
  Tensor bottleneck_features(const Tensor& flat, DropoutStream* dropout_stream);
  // F(x) on this rank only, without communication.
  Tensor backbone_features_alone(const Tensor& x, DropoutStream* dropout_stream);
  // Second half of F(x) when sharded by sources. The owner passes the result of backbone_features_alone() as `own` and
  // broadcasts it; the other ranks pass an undefined tensor and receive it. Splitting the pass lets the ranks run their
  // own sources in parallel before they communicate.
  Tensor exchange(const Tensor& own, const Tensor& x, DropoutStream* dropout_stream);
  // Shards all further passes of the backbone.
  void shard(const Sharding& sharding);
  const Sharding& sharding() const { return sharding_; }
  // Limits further passes of the backbone to micro-batches of that many pictures (micro_batch.h); 0 means no limit.
  void set_micro_batch(int64_t pictures) { micro_batch_ = pictures; }
  int64_t micro_batch() const { return micro_batch_; }
  Tensor classify(const Tensor& phi) const override;
  TensorList backbone() const override;
  TensorList bottleneck() const override;
  TensorList classifier() const override;

  const Network& network() const { return backbone_.network; }
  Network& network() { return backbone_.network; }
  int64_t backbone_width() const { return backbone_.width; }
  const HeadName& head() const { return backbone_.head; }
  // Bottleneck, its BatchNorm and the classifier folded into one affine map of the backbone's features, valid in
  // evaluation mode.
  Affine folded_head() const;

 private:
  // Shapes and probabilities of the dropout masks that a training pass of the backbone draws.
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
