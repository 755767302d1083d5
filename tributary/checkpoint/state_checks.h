// Checks of values that were read from a checkpoint.
//
// A checksum finds damage, not forgery, and run folders are passed on. Sizes, indices and names are checked like those
// of any other file before anything is computed with them.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "tributary/base/tensor.h"
#include "tributary/model/mixture.h"

namespace tributary {

// The run that a state must fit.
struct RunShape {
  int64_t pictures = 0, sources = 0, classes = 0;  // sources: those that are trained
  int64_t round = 0;                               // in which it resumes; all rounds before have been reported
  int64_t members = sources, witnesses = sources;  // sources with the fixed ones, and without a student
};

// Throws an InputError that says to start over with --restart.
[[noreturn]] void damaged_checkpoint(const std::string& what);
void require_in_checkpoint(bool holds, const std::string& what);

// `value` is an int64 tensor of that shape with numbers low .. high - 1. A -1 in the shape stands for any size.
void require_integers(const Tensor& value, std::vector<int64_t> shape, int64_t low, int64_t high,
                      const std::string& what);
// `value` is a floating-point tensor of that shape with finite numbers.
void require_numbers(const Tensor& value, std::vector<int64_t> shape, const std::string& what);

// The numbers of a JSON array, low .. high - 1 each.
std::vector<int64_t> integers_from(const nlohmann::json& list, int64_t low, int64_t high, const std::string& what);
int64_t integer_from(const nlohmann::json& value, int64_t low, int64_t high, const std::string& what);

Combination combination_from(const nlohmann::json& value);

}  // namespace tributary
