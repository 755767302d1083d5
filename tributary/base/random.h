// Random numbers that depend on a key, never on the order of calls elsewhere.
//
// Every draw of the program belongs to a key: the seed and a path such as (purpose, round, step, sample). The same key
// gives the same numbers on any machine, whatever ran before it and on however many threads, which is what makes runs
// repeatable. A generator is a counter that is hashed with its key; copying one is free.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <vector>

namespace tributary {

// What a stream of random numbers is for: the first element of its path.
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
};

class Random {
 public:
  explicit Random(uint64_t seed) : key_(seed) {}
  Random(uint64_t seed, Purpose purpose, std::initializer_list<uint64_t> path = {});

  // A stream of its own for part `index` of this one; does not advance this one.
  Random child(uint64_t index) const;

  // The stream as a number, for those who draw from it elsewhere: draw i of a fresh stream, counted from 1, is
  // mix(mix(key + i * kGolden) + key); see random.cpp.
  uint64_t key() const { return key_; }

  uint64_t bits();                          // 64 random bits
  double uniform();                         // [0, 1), 53 bits
  double uniform(double low, double high);  // [low, high)
  int64_t below(int64_t bound);             // 0 .. bound - 1, without bias
  bool chance(double probability);
  double normal();  // standard normal, by Box and Muller; uses libm, so equal to the last bit only on one platform
  double bell();    // mean 0, deviation 1, bounded by 6: a sum of uniforms, equal to the last bit everywhere
  std::vector<int64_t> permutation(int64_t count);

 private:
  uint64_t key_;
  uint64_t counter_ = 0;
};

}  // namespace tributary
