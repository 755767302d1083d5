// "per_class" and "confusion" of the report.
#include "tributary/report/report_data.h"

#include <fmt/format.h>

namespace tributary {
namespace {

// The page shows up to `kMostClasses` in one matrix. Of more, it keeps the `kKeptClasses` with most pictures off the
// diagonal, and the others share the last row and column: its size must not grow with the square of the classes.
constexpr int64_t kMostClasses = 1000, kKeptClasses = 400;

struct ClassGroups {
  Tensor index;  // int64 [K], the row of every class
  std::vector<std::string> names;
};

ClassGroups groups_of(const Tensor& row, const Tensor& column, const std::vector<std::string>& classes) {
  const auto count = static_cast<int64_t>(classes.size());
  if (count <= kMostClasses) return {torch::arange(count), classes};
  const Tensor changed = row != column;
  const Tensor moved =
      at::bincount(row.masked_select(changed), {}, count) + at::bincount(column.masked_select(changed), {}, count);
  const Tensor kept =
      std::get<0>(std::get<1>(moved.sort(/*stable=*/true, 0, /*descending=*/true)).narrow(0, 0, kKeptClasses).sort());
  ClassGroups groups{torch::full({count}, kKeptClasses, torch::kInt64), {}};
  groups.index.index_put_({kept}, torch::arange(kKeptClasses));
  for (int64_t i = 0; i < kKeptClasses; ++i)
    groups.names.push_back(classes[static_cast<size_t>(kept[i].item<int64_t>())]);
  groups.names.push_back(fmt::format("{} other classes", count - kKeptClasses));
  return groups;
}

// Co-occurrence counts, [row][column].
nlohmann::json counts_of(const Tensor& row, const Tensor& column, const ClassGroups& groups) {
  const auto classes = static_cast<int64_t>(groups.names.size());
  const Tensor cell = groups.index.index({row}) * classes + groups.index.index({column});
  const Tensor counts = at::bincount(cell, {}, classes * classes).view({classes, classes});
  nlohmann::json table = nlohmann::json::array();
  for (int64_t k = 0; k < classes; ++k) {
    const Tensor line = counts[k].contiguous();
    table.push_back(std::vector<int64_t>(line.data_ptr<int64_t>(), line.data_ptr<int64_t>() + classes));
  }
  return table;
}

// Fraction of `given` for which `also` holds; null if `given` is empty.
nlohmann::json fraction_within(const Tensor& given, const Tensor& also) {
  const auto count = given.sum().item<double>();
  if (count == 0) return nullptr;
  return given.logical_and(also).sum().item<double>() / count;
}

}  // namespace

nlohmann::json report_classes(const ReportParts& parts) {
  const RoundHistory& first = parts.history.rounds.front();
  const RoundHistory& last = *parts.result;
  nlohmann::json table = nlohmann::json::array();
  for (size_t k = 0; k < parts.history.classes.size(); ++k) {
    const auto number = static_cast<int64_t>(k);
    const Tensor predicted = last.label == number;
    const Tensor confidence = last.confidence.masked_select(predicted);
    nlohmann::json row = {{"class", parts.history.classes[k]},
                          {"before", (first.label == number).sum().item<int64_t>()},
                          {"after", confidence.numel()},
                          {"confidence", nullptr},
                          {"recall", nullptr},
                          {"precision", nullptr}};
    const auto partly = parts.history.known_by.find(parts.history.classes[k]);
    if (partly != parts.history.known_by.end()) row["known_by"] = partly->second;
    if (confidence.numel() > 0) row["confidence"] = confidence.mean().item<double>();
    if (parts.truth.defined()) {
      const Tensor is_class = parts.truth == number;
      row["recall"] = fraction_within(is_class, predicted);
      row["precision"] = fraction_within(predicted, is_class);
    }
    table.push_back(row);
  }
  return table;
}

nlohmann::json report_confusion(const ReportParts& parts) {
  const Tensor& before = parts.history.rounds.front().label;
  const Tensor& after = parts.result->label;
  const bool judged = parts.truth.defined();
  const Tensor& row = judged ? parts.truth : before;
  const ClassGroups groups = groups_of(row, after, parts.history.classes);
  nlohmann::json confusion = {{"rows", judged ? "truth" : "before adaptation"},
                              {"columns", judged ? "predicted" : "after adaptation"},
                              {"before", nullptr},
                              {"after", counts_of(row, after, groups)}};
  if (judged) confusion["before"] = counts_of(row, before, groups);
  if (groups.names.size() != parts.history.classes.size()) {
    confusion["names"] = groups.names;
    if (!judged) confusion["changed"] = (before != after).sum().item<int64_t>();
  }
  return confusion;
}

}  // namespace tributary
