#include "tributary/base/random.h"

#include <cmath>
#include <numeric>
#include <utility>

namespace tributary {
namespace {

constexpr uint64_t kGolden = 0x9e3779b97f4a7c15;

// A bijection on 64-bit words in which each input bit flips about half of the output bits.
uint64_t mix(uint64_t x) {
  x ^= x >> 32;
  x *= 0xd6e8feb86659fd93;
  x ^= x >> 32;
  x *= 0xd6e8feb86659fd93;
  x ^= x >> 32;
  return x;
}

uint64_t derive(uint64_t key, uint64_t part) {
  return mix(mix(key + kGolden) ^ (part * kGolden + 0x632be59bd9b4e019));
}

}  // namespace

Random::Random(uint64_t seed, Purpose purpose, std::initializer_list<uint64_t> path)
    : key_(derive(seed, static_cast<uint64_t>(purpose))) {
  for (const uint64_t part : path) key_ = derive(key_, part);
}

Random Random::child(uint64_t index) const {
  return Random(derive(key_, index));
}

uint64_t Random::bits() {
  return mix(mix(key_ + ++counter_ * kGolden) + key_);
}

double Random::uniform() {
  return static_cast<double>(bits() >> 11) * 0x1p-53;
}

double Random::uniform(double low, double high) {
  return low + (high - low) * uniform();
}

int64_t Random::below(int64_t bound) {
  const auto limit = static_cast<uint64_t>(bound);
  const uint64_t reject_from = UINT64_MAX - UINT64_MAX % limit;
  uint64_t word = bits();
  while (word >= reject_from) word = bits();
  return static_cast<int64_t>(word % limit);
}

bool Random::chance(double probability) {
  return uniform() < probability;
}

double Random::normal() {
  const double radius = std::sqrt(-2 * std::log(1 - uniform()));
  return radius * std::cos(6.283185307179586 * uniform());
}

double Random::bell() {
  double sum = -6;
  for (int i = 0; i < 12; ++i) sum += uniform();
  return sum;
}

std::vector<int64_t> Random::permutation(int64_t count) {
  std::vector<int64_t> order(static_cast<size_t>(count));
  std::iota(order.begin(), order.end(), 0);
  for (int64_t i = count - 1; i > 0; --i) std::swap(order[i], order[below(i + 1)]);
  return order;
}

}  // namespace tributary
