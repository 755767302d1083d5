#include "tributary/run/audit.h"

#include <algorithm>
#include <set>
#include <unordered_set>

#include "tributary/base/csv.h"
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
                     const std::vector<StoredPrediction>& predictions, std::vector<std::string> classes,
                     const std::vector<std::string>& trained) {
  const uint64_t seed = seed_of(rows, path);
  std::vector<std::string> names;
  for (const StoredPrediction& prediction : predictions) names.push_back(prediction.picture);
  for (std::string& name : classes) name = csv_text(name);
  std::set<std::string> others;  // no class of the model: never predicted
  for (const LabelRow& row : rows) {
    if (row.label.empty() || std::find(classes.begin(), classes.end(), row.label) != classes.end()) continue;
    if (const std::string near = nearest(row.label, classes); !near.empty())
      input_error("{}:{}: {} is not a class of the model; did you mean {}?", path, row.line, printable(row.label, 100),
                  printable(near));
    others.insert(row.label);
  }
  classes.insert(classes.end(), others.begin(), others.end());
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
