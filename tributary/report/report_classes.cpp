// "per_class" and "confusion" of the report.
#include "tributary/report/report_data.h"

namespace tributary {
namespace {

// Co-occurrence counts, [row][column].
nlohmann::json counts_of(const Tensor& row, const Tensor& column, int64_t classes) {
  const Tensor counts = at::bincount(row * classes + column, {}, classes * classes).view({classes, classes});
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
  const auto classes = static_cast<int64_t>(parts.history.classes.size());
  if (parts.truth.defined())
    return {{"rows", "truth"},
            {"columns", "predicted"},
            {"before", counts_of(parts.truth, before, classes)},
            {"after", counts_of(parts.truth, after, classes)}};
  return {{"rows", "before adaptation"},
          {"columns", "after adaptation"},
          {"before", nullptr},
          {"after", counts_of(before, after, classes)}};
}

}  // namespace tributary
