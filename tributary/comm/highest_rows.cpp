#include "tributary/comm/highest_rows.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

#include "tributary/base/error.h"

namespace tributary {
namespace {

// Integers in the order of the values: NaN is the highest, and both zeros are equal.
std::vector<uint32_t> keys_of(const Tensor& value) {
  TRIBUTARY_CHECK(value.scalar_type() == torch::kFloat32, "values to compare must be float32");
  const Tensor host = value.cpu().contiguous();
  const float* const values = host.data_ptr<float>();
  std::vector<uint32_t> keys(static_cast<size_t>(host.numel()));
  for (size_t i = 0; i < keys.size(); ++i) {
    if (std::isnan(values[i])) {
      keys[i] = UINT32_MAX;
      continue;
    }
    const auto bits = std::bit_cast<uint32_t>(values[i] + 0.0F);
    keys[i] = bits >> 31 != 0 ? ~bits : bits | uint32_t{1} << 31;
  }
  return keys;
}

// What is known of the lowest key of a group that is chosen, after some of its bits have been found.
struct Search {
  uint32_t prefix = 0;
  int64_t left = 0;  // rows to choose among those with this prefix
};

constexpr int kKeyBits = 32;

// Finds the next `bits` bits, below which `shift` more remain.
void narrow(std::vector<Search>& searches, const std::vector<uint32_t>& keys, const int64_t* group, int shift, int bits,
            const RowBlock& rows) {
  const int64_t bins = int64_t{1} << bits;
  const Tensor counts = torch::zeros({static_cast<int64_t>(searches.size()), bins}, torch::kInt64);
  int64_t* const own = counts.data_ptr<int64_t>();
  const auto above = [&](uint32_t key) { return shift + bits == kKeyBits ? 0 : key >> (shift + bits); };
  for (size_t i = 0; i < keys.size(); ++i) {
    const int64_t g = group ? group[i] : 0;
    if (above(keys[i]) == searches[static_cast<size_t>(g)].prefix)
      ++own[g * bins + static_cast<int64_t>((keys[i] >> shift) & (bins - 1))];
  }
  const Tensor sums = rows.sum(counts).contiguous();
  const int64_t* all = sums.data_ptr<int64_t>();
  for (Search& search : searches) {
    int64_t bin = bins - 1;
    for (; bin > 0 && search.left > all[bin]; --bin) search.left -= all[bin];
    search.prefix = static_cast<uint32_t>(search.prefix << bits) | static_cast<uint32_t>(bin);
    all += bins;
  }
}

// Replaces the number of rows to choose among those with the lowest chosen key by this rank's part of it: earlier ranks
// have the earlier rows.
void divide_ties(std::vector<Search>& searches, const std::vector<uint32_t>& keys, const int64_t* group,
                 const RowBlock& rows) {
  if (!rows.divided()) return;
  const Tensor ties = torch::zeros({static_cast<int64_t>(searches.size())}, torch::kInt64);
  int64_t* const own = ties.data_ptr<int64_t>();
  for (size_t i = 0; i < keys.size(); ++i) {
    const int64_t g = group ? group[i] : 0;
    own[g] += keys[i] == searches[static_cast<size_t>(g)].prefix ? 1 : 0;
  }
  const Tensor earlier = rows.comm()->all_gather(ties).cpu().narrow(0, 0, rows.comm()->rank()).sum(0).contiguous();
  for (size_t g = 0; g < searches.size(); ++g)
    searches[g].left = std::max<int64_t>(0, searches[g].left - earlier.data_ptr<int64_t>()[g]);
}

// The vectors of all ranks, of any lengths, one behind the other.
Tensor joined(const Tensor& own, const RowBlock& rows) {
  if (!rows.divided()) return own;
  const Tensor counts = rows.comm()->all_gather(torch::tensor({own.size(0)}, torch::kInt64)).cpu().flatten();
  Tensor padded = torch::zeros({counts.max().item<int64_t>()}, own.options());
  padded.narrow(0, 0, own.size(0)).copy_(own);
  const Tensor all = rows.comm()->all_gather(padded).cpu();
  std::vector<Tensor> parts;
  for (int64_t rank = 0; rank < counts.size(0); ++rank)
    parts.push_back(all[rank].narrow(0, 0, counts[rank].item<int64_t>()));
  return at::cat(parts);
}

}  // namespace

Tensor highest_rows(const Tensor& value, int64_t count, const RowBlock& rows) {
  return highest_rows(value, {}, {count}, rows);
}

Tensor highest_rows(const Tensor& value, const Tensor& group, const std::vector<int64_t>& counts,
                    const RowBlock& rows) {
  const std::vector<uint32_t> keys = keys_of(value);
  const Tensor groups = group.defined() ? group.cpu().contiguous() : Tensor();
  const int64_t* const group_of = group.defined() ? groups.data_ptr<int64_t>() : nullptr;
  std::vector<Search> searches;
  for (const int64_t count : counts) searches.push_back({0, count});
  int shift = kKeyBits;
  for (const int bits : {11, 11, 10}) {
    shift -= bits;
    narrow(searches, keys, group_of, shift, bits, rows);
  }
  divide_ties(searches, keys, group_of, rows);

  std::vector<int64_t> chosen;
  for (size_t i = 0; i < keys.size(); ++i) {
    const auto g = static_cast<size_t>(group_of ? group_of[i] : 0);
    Search& search = searches[g];
    if (counts[g] == 0 || keys[i] < search.prefix) continue;
    if (keys[i] == search.prefix && search.left-- <= 0) continue;
    chosen.push_back(static_cast<int64_t>(i));
  }
  const Tensor own = torch::tensor(chosen, torch::kInt64);
  const Tensor values = joined(value.cpu().index_select(0, own), rows);
  const Tensor order = std::get<1>(values.sort(/*stable=*/true, /*dim=*/0, /*descending=*/true));
  return joined(own + rows.begin(), rows).index_select(0, order);
}

}  // namespace tributary
