#include "tributary/device/dropout_stream.h"

#include <c10/util/accumulate.h>

#include <cmath>

#include "tributary/base/error.h"
#include "tributary/device/device.h"

namespace tributary {

namespace {

constexpr int64_t kLow = 0xffffffff;

// The bijection of base/random.cpp on int64 tensors, which wrap around like uint64.
Tensor mix(Tensor x) {
  constexpr auto kFactor = static_cast<int64_t>(0xd6e8feb86659fd93);
  const auto fold = [](const Tensor& y) { return y.bitwise_xor(y.bitwise_right_shift(32).bitwise_and(kLow)); };
  x = fold(x) * kFactor;
  x = fold(x) * kFactor;
  return fold(x);
}

}  // namespace

Tensor keyed_draws(const Tensor& position, const Tensor& key) {
  constexpr auto kGolden = static_cast<int64_t>(0x9e3779b97f4a7c15);
  const Tensor bits = mix(mix(position * kGolden + key) + key);
  return at::stack({bits.bitwise_and(kLow), bits.bitwise_right_shift(32).bitwise_and(kLow)}, 1).view({-1});
}

int64_t drop_threshold(double drop) {
  return static_cast<int64_t>(drop * 4294967296.0);
}

Tensor normals_from(const Tensor& draws) {
  constexpr double kRange = 4294967296.0;
  const Tensor pairs = draws.view({-1, 2}).to(torch::kFloat64);
  const Tensor radius = (((pairs.select(1, 0) + 0.5) / kRange).log() * -2).sqrt();
  const Tensor angle = pairs.select(1, 1) * (2 * M_PI / kRange);
  return at::stack({radius * angle.cos(), radius * angle.sin()}, 1).view({-1}).to(torch::kFloat32);
}

DropoutStream DropoutStream::quiet(torch::Device device) {
  DropoutStream dropout_stream(Random(0), device);
  dropout_stream.quiet_ = true;
  return dropout_stream;
}

Tensor DropoutStream::device_draws(int64_t draws) {
  const Tensor position = torch::arange(position_ + 1, position_ + draws + 1, key_.options());
  position_ += draws;
  return keyed_draws(position, key_);
}

Tensor DropoutStream::host_draws(int64_t draws) {
  Tensor halves = torch::empty({2 * draws}, torch::kInt64);
  int64_t* value = halves.data_ptr<int64_t>();
  for (int64_t i = 0; i < draws; ++i) {
    const uint64_t bits = stream_.bits();
    value[2 * i] = static_cast<int64_t>(bits & 0xffffffff);
    value[2 * i + 1] = static_cast<int64_t>(bits >> 32);
  }
  return halves;
}

// Writes the mask directly instead of going through host_draws(): on a CPU this is a noticeable part of a small
// network's step.
Tensor DropoutStream::drawn_on_host(torch::IntArrayRef shape, double drop) {
  Tensor mask = torch::empty(shape, torch::kFloat32);
  float* value = mask.data_ptr<float>();
  const int64_t count = mask.numel();
  const auto threshold = static_cast<uint64_t>(drop_threshold(drop));
  const auto kept = static_cast<float>(1 / (1 - drop));
  for (int64_t i = 0; i < count; i += 2) {
    const uint64_t bits = stream_.bits();
    value[i] = (bits & 0xffffffff) < threshold ? 0 : kept;
    if (i + 1 < count) value[i + 1] = (bits >> 32) < threshold ? 0 : kept;
  }
  return upload(mask, device_);
}

Tensor DropoutStream::take_in_parts(torch::IntArrayRef shape, double drop) {
  std::vector<Tensor> taken;
  std::vector<int64_t> own = shape.vec();
  for (const Part& part : parts_) {
    own[0] = part.count;
    taken.push_back(drop == kNormal ? part.dropout_stream->normal(own) : part.dropout_stream->mask(own, drop));
  }
  return at::cat(taken);
}

Tensor DropoutStream::take_rows(torch::IntArrayRef shape, double drop) {
  DropoutStream& whole = *rows_.whole;
  const size_t number = rows_.drawn_before + drawn_.size();
  if (whole.quiet_) return whole.mask(shape, drop);
  if (number == whole.drawn_.size()) {
    std::vector<int64_t> all = shape.vec();
    all[0] = rows_.total;
    whole.take(all, drop);
  }
  return whole.drawn_[number].narrow(0, rows_.first, shape[0]);
}

// Returns the next prepared mask or draws a new one, and records it in drawn_.
Tensor DropoutStream::take(torch::IntArrayRef shape, double drop) {
  const int64_t count = c10::multiply_integers(shape), draws = (count + 1) / 2;
  Tensor taken;
  if (rows_.whole) {
    taken = take_rows(shape, drop);
  } else if (!parts_.empty()) {
    taken = take_in_parts(shape, drop);
  } else if (prepared_) {
    TRIBUTARY_CHECK(drawn_.size() < prepared_->size(), "draw {} of a stream with {} prepared masks", drawn_.size(),
                    prepared_->size());
    taken = (*prepared_)[drawn_.size()];
    TRIBUTARY_CHECK(taken.sizes() == shape, "the prepared mask has the shape of another layer");
  } else if (drop == kNormal) {
    const Tensor numbers = key_.defined() ? device_draws(draws) : host_draws(draws);
    taken = normals_from(numbers).narrow(0, 0, count).view(shape).to(device_);
  } else if (key_.defined()) {
    const Tensor kept = device_draws(draws).narrow(0, 0, count) >= drop_threshold(drop);
    taken = kept.to(torch::kFloat32).mul_(1 / (1 - drop)).view(shape);
  } else {
    taken = drawn_on_host(shape, drop);
  }
  drawn_.push_back(taken);
  drops_.push_back(drop);
  return taken;
}

Tensor DropoutStream::mask(torch::IntArrayRef shape, double drop) {
  return quiet_ ? torch::ones(shape, at::device(device_).dtype(torch::kFloat32)) : take(shape, drop);
}

Tensor DropoutStream::normal(torch::IntArrayRef shape) {
  return take(shape, kNormal);
}

}  // namespace tributary
