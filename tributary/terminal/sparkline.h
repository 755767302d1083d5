// A row of numbers as a row of blocks, ▁ to █, for a glance at how they went.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tributary {

// From the least value to the greatest, so whoever shows it writes both beside it. Values that are all the same stand
// half high. Of more than `columns` values as many are shown, evenly chosen, the first and the last among them.
std::string sparkline(const std::vector<double>& values, int64_t columns = 20);

}  // namespace tributary
