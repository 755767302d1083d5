// Counter-based random streams that depend on a key only, never on the order of calls elsewhere.
//
// Every stream has a key: the seed and a path such as (purpose, round, step, sample). A key yields the same numbers on
// any machine and number of threads, whatever ran before. This makes runs reproducible. A generator hashes a counter
// with its key, so copies are cheap.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <vector>

namespace tributary {

// The use of a random stream: the first element of its path.
enum class Purpose : uint64_t {
  kInitialise = 1,
  kShuffle = 2,
  kDropout = 3,
  kMixup = 4,
  kAugment = 5,
  kSplit = 6,
  kWeights = 7,
  kAdversary = 8,
  kDigits = 9,
  kLabelQuery = 10,
  kAudit = 11,
};

class Random {
 public:
  explicit Random(uint64_t seed) : key_(seed) {}
  Random(uint64_t seed, Purpose purpose, std::initializer_list<uint64_t> path = {});

  // An independent stream for part `index` of this one. Does not advance this one.
  Random child(uint64_t index) const;

  // For kernels that draw from the stream themselves: draw i of a fresh stream, counted from 1, is
  // mix(mix(key + i * kGolden) + key); see random.cpp.
  uint64_t key() const { return key_; }

  uint64_t bits();                          // 64 random bits
  double uniform();                         // [0, 1), 53 bits
  double uniform(double low, double high);  // [low, high)
  int64_t below(int64_t bound);             // 0 .. bound - 1, without bias
  bool chance(double probability);
  double normal();  // standard normal (Box-Muller); uses libm, so bitwise equal on one platform only
  double bell();    // a sum of 12 uniforms: mean 0, deviation 1, bounded by 6; bitwise equal everywhere
  std::vector<int64_t> permutation(int64_t count);

 private:
  uint64_t key_;
  uint64_t counter_ = 0;
};

}  // namespace tributary
