#include "tributary/run/audit.h"

#include <algorithm>
#include <unordered_set>

#include "tributary/base/error.h"
#include "tributary/base/text.h"
#include "tributary/run/label_requests.h"

namespace tributary {
namespace {

uint64_t seed_of(const std::vector<LabelRow>& rows, const std::string& path) {
  for (const LabelRow& row : rows)
    if (!row.random_seed || row.random_seed != rows.front().random_seed)
      input_error(
          "{}:{}: {} was not drawn at random with the others; draw an audit sample with tributary suggest --random",
          path, row.line, printable(row.picture, 200));
  if (rows.empty()) input_error("{} has no pictures; draw an audit sample with tributary suggest --random", path);
  return *rows.front().random_seed;
}

}  // namespace

AuditResult audit_of(const std::vector<LabelRow>& rows, const std::string& path,
                     const std::vector<StoredPrediction>& predictions, const std::vector<std::string>& trained) {
  const uint64_t seed = seed_of(rows, path);
  std::vector<std::string> names, classes;
  for (const StoredPrediction& prediction : predictions) {
    names.push_back(prediction.picture);
    classes.push_back(prediction.label);
  }
  for (const LabelRow& row : rows)
    if (!row.label.empty()) classes.push_back(row.label);  // a class that is never predicted counts as wrong
  std::sort(classes.begin(), classes.end());
  classes.erase(std::unique(classes.begin(), classes.end()), classes.end());
  const MatchedRows found = match_rows(rows, path, names, classes);
  const auto labelled = static_cast<int64_t>(found.picture.size());
  if (labelled == 0) input_error("{} has no label; fill in the column label", path);

  const std::vector<int64_t> order = audit_sample(static_cast<int64_t>(names.size()), labelled, seed);
  const std::unordered_set<int64_t> drawn(order.begin(), order.end()),
      has_label(found.picture.begin(), found.picture.end());
  for (const int64_t picture : order)
    if (!has_label.contains(picture))
      input_error(
          "{} has no label for {}, which was drawn before others that have one; label it, because leaving pictures "
          "out biases the estimate",
          path, printable(names[static_cast<size_t>(picture)], 200));

  const std::unordered_set<std::string> known(trained.begin(), trained.end());
  AuditResult result;
  result.drawn = static_cast<int64_t>(rows.size());
  for (size_t i = 0; i < found.picture.size(); ++i) {
    const StoredPrediction& prediction = predictions[static_cast<size_t>(found.picture[i])];
    if (known.contains(prediction.picture)) {
      ++result.trained;
      continue;
    }
    ++result.labelled;
    result.right += classes[static_cast<size_t>(found.label[i])] == prediction.label ? 1 : 0;
  }
  return result;
}

}  // namespace tributary
