// Random stream of one training pass, mainly for dropout masks.
//
// Masks come from a keyed stream instead of a global generator. They depend only on the key of the pass (seed, round,
// step, source, pass) and are the same on every device, and a test can read them back and feed them to another
// implementation. A forward pass with a `DropoutStream` is a training pass; a pass without one is an evaluation.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "tributary/base/random.h"
#include "tributary/base/tensor.h"

namespace tributary {

class DropoutStream {
 public:
  DropoutStream(Random stream, torch::Device device) : stream_(stream), device_(device) {}
  // Draws the same masks on the device, from a key stored there, int64 []. A CUDA graph can thus be captured before the
  // key is known.
  explicit DropoutStream(const Tensor& key) : stream_(0), device_(key.device()), key_(key) {}
  // Hands out masks that were drawn in advance, in order (dropout_masks.h).
  DropoutStream(std::vector<Tensor> prepared, torch::Device device)
      : stream_(0), device_(device), prepared_(std::move(prepared)) {}

  // For one pass over several concatenated batches: every batch gets the masks that a pass of its own would draw. Part
  // i has `count` rows.
  struct Part {
    DropoutStream* dropout_stream;
    int64_t count;
  };
  DropoutStream(std::vector<Part> parts, torch::Device device)
      : stream_(0), device_(device), parts_(std::move(parts)) {}

  // For a pass over the rows from `first` on of a batch of `total` rows: gets its rows of the masks that `whole` draws
  // for the whole batch. `drawn_before` is the number of masks that `whole` had drawn before the batch. `whole` must
  // outlive this stream.
  DropoutStream(DropoutStream& whole, size_t drawn_before, int64_t first, int64_t total)
      : stream_(0), device_(whole.device_), rows_{&whole, drawn_before, first, total} {}

  // A stream that drops nothing: the training pass differs from an evaluation only by its batch statistics.
  static DropoutStream quiet(torch::Device device);

  // A float32 mask: each value is 0 with probability `drop`, else 1 / (1 - drop).
  Tensor mask(torch::IntArrayRef shape, double drop);
  // Standard normal draws, float32. Equal on host and device up to the rounding of logarithm and cosine.
  Tensor normal(torch::IntArrayRef shape);

  // A seed for callers with a generator of their own. Only for streams that draw on the host.
  uint64_t seed() { return stream_.bits(); }

  // Everything drawn so far, in order. drops()[i] is the drop probability of drawn()[i], or kNormal.
  const std::vector<Tensor>& drawn() const { return drawn_; }
  const std::vector<double>& drops() const { return drops_; }
  torch::Device device() const { return device_; }

 private:
  Tensor take(torch::IntArrayRef shape, double drop);
  Tensor take_in_parts(torch::IntArrayRef shape, double drop);
  Tensor take_rows(torch::IntArrayRef shape, double drop);
  // Uniform 32-bit numbers, int64 [2 * draws].
  Tensor host_draws(int64_t draws);
  Tensor device_draws(int64_t draws);
  Tensor drawn_on_host(torch::IntArrayRef shape, double drop);

  Random stream_;
  torch::Device device_;
  bool quiet_ = false;
  Tensor key_;            // undefined if masks are drawn on the host
  int64_t position_ = 0;  // number of draws from key_ so far
  std::optional<std::vector<Tensor>> prepared_;
  std::vector<Part> parts_;
  struct Rows {
    DropoutStream* whole = nullptr;
    size_t drawn_before = 0;
    int64_t first = 0, total = 0;
  } rows_;
  std::vector<Tensor> drawn_;
  std::vector<double> drops_;
};

// The draws of Random(key) at `position` (counted from 1), split into two 32-bit numbers each. `position` is int64 [n],
// `key` int64 [n] or []; returns int64 [2 n].
Tensor keyed_draws(const Tensor& position, const Tensor& key);
// 32-bit draws below this threshold mean a dropped value.
int64_t drop_threshold(double drop);
// Marks normal draws in DropoutStream::drops().
constexpr double kNormal = -1;
// Normal draws from as many uniform 32-bit numbers, in pairs (Box-Muller). `draws` has an even number of elements.
Tensor normals_from(const Tensor& draws);

}  // namespace tributary
