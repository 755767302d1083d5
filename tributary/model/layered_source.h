// A source model of our own layers: backbone F, optional bottleneck B, classifier C.
#pragma once

#include <optional>

#include "tributary/model/backbone.h"
#include "tributary/model/pass_memory.h"
#include "tributary/model/recomputed_pass.h"
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
  // F(x) of a training pass that leaves no trace: masks of its own, and the running statistics stay as they are.
  Tensor trial_features(const Tensor& x);
  // Limits the memory of all further passes of the backbone.
  void set_memory(const PassMemory& memory);
  const PassMemory& memory() const { return memory_; }
  // Segments into which passes are divided if they are recomputed.
  int64_t segments();
  // While it lives, training passes are propagated back at once, before any other pass begins.
  class PromptPasses {
   public:
    explicit PromptPasses(LayeredSource& source) : source_(source) { source_.prompt_ = true; }
    ~PromptPasses() { source_.prompt_ = false; }
    PromptPasses(const PromptPasses&) = delete;
    PromptPasses& operator=(const PromptPasses&) = delete;

   private:
    LayeredSource& source_;
  };
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
  // Whether the next training pass is recomputed in segments.
  bool recomputes() const;
  // The forward pass of some layers for recomputed_pass.h.
  PassForward forward_of(LayerRange layers);
  // Recomputes the segments that memory() says and stores the activations of the rest.
  Tensor in_segments(const Tensor& x, DropoutStream& dropout_stream);
  // Shapes and probabilities of the dropout masks that a training pass of the backbone draws.
  const PassDraws& draws(const Tensor& x);

  Backbone backbone_;
  std::optional<Bottleneck> bottleneck_;
  Classifier classifier_;
  double dropout_;
  PassMemory memory_;
  bool prompt_ = false;
  std::vector<LayerRange> segments_;  // if passes are recomputed
  int64_t size_;                      // of the pictures
  Sharding sharding_;
  std::optional<PassDraws> draws_;
};

}  // namespace tributary
