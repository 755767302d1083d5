// The randomness of one forward pass in training: dropout masks.
//
// Dropout takes its masks from here instead of a global generator, so that they depend on the key of the pass alone
// (seed, round, step, source, pass) and are the same on every device; a test can read them back and hand them to
// another implementation. A forward pass with a `DropoutStream` is a training pass, one without is an evaluation.
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
  // The same masks, drawn on the device from a key that lies there, int64 []: work can be recorded before the key is
  // known.
  explicit DropoutStream(const Tensor& key) : stream_(0), device_(key.device()), key_(key) {}
  // Masks that were drawn before, handed out in their order (mask_sheet.h).
  DropoutStream(std::vector<Tensor> prepared, torch::Device device)
      : stream_(0), device_(device), prepared_(std::move(prepared)) {}

  // Of one pass over several batches, `count` pictures each: every batch gets what a pass of its own would have drawn.
  struct Part {
    DropoutStream* dropout_stream;
    int64_t count;
  };
  DropoutStream(std::vector<Part> parts, torch::Device device)
      : stream_(0), device_(device), parts_(std::move(parts)) {}

  // Of one of several passes that together are one over `total` pictures, those from `first` on: its rows of what
  // `whole`, which must live as long, draws for all of them. `drawn_before` is what that had drawn before the passes.
  DropoutStream(DropoutStream& whole, size_t drawn_before, int64_t first, int64_t total)
      : stream_(0), device_(whole.device_), rows_{&whole, drawn_before, first, total} {}

  // Drops nothing: a training pass that differs from an evaluation by its batch statistics alone.
  static DropoutStream quiet(torch::Device device);

  // A mask of the given shape: 0 with probability `drop`, else 1 / (1 - drop).
  Tensor mask(torch::IntArrayRef shape, double drop);
  // Standard normal numbers. Equal on host and device but for the rounding of logarithm and cosine.
  Tensor normal(torch::IntArrayRef shape);

  // A number for those who draw from a generator of their own; there is none on the device.
  uint64_t seed() { return stream_.bits(); }

  // Everything drawn so far, in order, and a mask's probability of a zero, or kNormal.
  const std::vector<Tensor>& drawn() const { return drawn_; }
  const std::vector<double>& drops() const { return drops_; }
  torch::Device device() const { return device_; }

 private:
  Tensor take(torch::IntArrayRef shape, double drop);
  Tensor take_in_parts(torch::IntArrayRef shape, double drop);
  Tensor take_rows(torch::IntArrayRef shape, double drop);
  // 32-bit numbers, int64 [2 draws].
  Tensor host_draws(int64_t draws);
  Tensor device_draws(int64_t draws);
  Tensor drawn_on_host(torch::IntArrayRef shape, double drop);

  Random stream_;
  torch::Device device_;
  bool quiet_ = false;
  Tensor key_;            // undefined where masks are drawn on the host
  int64_t position_ = 0;  // draws from the key so far
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

// What Random(key) draws at `position` (from 1 on), as two 32-bit numbers: int64 [n] and int64 [n] or [] to [2 n].
Tensor keyed_draws(const Tensor& position, const Tensor& key);
// The number below which a draw means zero.
int64_t drop_threshold(double drop);
// In place of a probability: the numbers are normal ones.
constexpr double kNormal = -1;
// Normal numbers from as many 32-bit ones, two by two (Box and Muller).
Tensor normals_from(const Tensor& draws);

}  // namespace tributary
