#include "tributary/run/predictions.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <unordered_map>

#include "tributary/base/csv.h"
#include "tributary/base/error.h"
#include "tributary/base/files.h"
#include "tributary/base/json_text.h"
#include "tributary/base/text.h"

namespace tributary {
namespace {

using nlohmann::json;

std::string json_line(const json& object) {
  return json_text(object) + "\n";
}

// The prediction for one picture.
struct Line {
  std::string path, name;
  float confidence, agreement;
  std::vector<std::string> by_source;  // empty if there is only one source
  std::optional<bool> check;
};

// The share of the sources that know the predicted class and predict it too, float [n].
Tensor agreement_of(const Tensor& predicted, const Tensor& by_source, const Tensor& known) {
  const Tensor agrees = (by_source == predicted).to(torch::kFloat32);
  if (!known.defined()) return agrees.mean(0);
  return agrees.sum(0) / known.index_select(1, predicted).to(torch::kFloat32).sum(0);
}

std::string csv_line(const Line& line) {
  std::string text =
      fmt::format("{},{},{:.6f},{:.4g}", csv_field(line.path), csv_field(line.name), line.confidence, line.agreement);
  for (const std::string& name : line.by_source) text += "," + csv_field(name);
  if (line.check) text += *line.check ? ",yes" : ",no";
  return text + ",\n";
}

}  // namespace

PredictedLabels predicted_labels(const Tensor& probabilities, const Tensor& logits, const Tensor& known) {
  const auto [confidence, predicted] = probabilities.max(-1);
  return {predicted.cpu().contiguous(), confidence.to(torch::kCPU, torch::kFloat32).contiguous(),
          own_logits(logits, known).argmax(-1).cpu().contiguous()};
}

std::string predictions_text(const ImageSet& images, const std::vector<SkippedPicture>& skipped,
                             const Ensemble& ensemble, const Tensor& probabilities, const Tensor& logits,
                             PredictionFormat format) {
  return predictions_text(images, skipped, ensemble, predicted_labels(probabilities, logits, ensemble.known()), format);
}

std::string predictions_text(const ImageSet& images, const std::vector<SkippedPicture>& skipped,
                             const Ensemble& ensemble, const PredictedLabels& predictions, PredictionFormat format) {
  const auto& [host_predicted, host_confidence, by_source, check] = predictions;
  const Tensor agreement = agreement_of(host_predicted, by_source, ensemble.known());
  const int64_t sources = ensemble.members() > 1 ? ensemble.members() : 0;
  const std::vector<std::string> names = ensemble.member_names();
  const bool csv = format == PredictionFormat::kCsv;
  const auto class_name = [&](int64_t index) { return ensemble.classes()[index]; };

  std::string text;
  if (csv) {
    text = "path,class,confidence,agreement";
    for (int64_t j = 0; j < sources; ++j) text += "," + csv_field(names[static_cast<size_t>(j)]);
    text += check.defined() ? ",check,error\n" : ",error\n";
  }
  for (int64_t i = 0; i < images.size(); ++i) {
    Line line{images.names[i],
              class_name(host_predicted.data_ptr<int64_t>()[i]),
              host_confidence.data_ptr<float>()[i],
              agreement.data_ptr<float>()[i],
              {},
              {}};
    if (check.defined()) line.check = check.data_ptr<bool>()[i];
    for (int64_t j = 0; j < sources; ++j)
      line.by_source.push_back(class_name(by_source.data_ptr<int64_t>()[j * images.size() + i]));
    if (csv) {
      text += csv_line(line);
      continue;
    }
    json object = {
        {"path", line.path}, {"class", line.name}, {"confidence", line.confidence}, {"agreement", line.agreement}};
    for (int64_t j = 0; j < sources; ++j)
      object["sources"].push_back({{"name", names[static_cast<size_t>(j)]}, {"class", line.by_source[j]}});
    if (line.check) object["check"] = *line.check;
    text += json_line(object);
  }
  for (const SkippedPicture& bad : skipped)
    text += csv ? fmt::format("{},,,{},{}\n", csv_field(bad.path),
                              std::string(static_cast<size_t>(sources + (check.defined() ? 1 : 0)), ','),
                              csv_field(bad.reason))
                : json_line({{"path", bad.path}, {"error", bad.reason}});
  return text;
}

std::vector<StoredPrediction> stored_predictions(const std::string& csv_path) {
  const std::string text = read_text(csv_path);
  std::string_view rest = text;
  const std::vector<std::string> titles = take_csv_row(rest);
  if (titles.size() < 5 || titles.front() != "path" || titles[1] != "class" || titles.back() != "error")
    input_error("{} is not the list of predictions that adapt writes; repeat the run", csv_path);
  std::vector<StoredPrediction> predictions;
  while (!rest.empty()) {
    std::vector<std::string> row = take_csv_row(rest);
    if (row.size() != titles.size()) input_error("{} is damaged; repeat the run", csv_path);
    if (row.back().empty())
      predictions.push_back({without_formula_mark(std::move(row[0])), without_formula_mark(std::move(row[1]))});
  }
  return predictions;
}

std::vector<std::string> predicted_pictures(const std::string& csv_path) {
  std::vector<std::string> names;
  for (StoredPrediction& prediction : stored_predictions(csv_path)) names.push_back(std::move(prediction.picture));
  return names;
}

Tensor predicted_classes(const std::string& csv_path, const std::vector<std::string>& classes) {
  std::unordered_map<std::string, int64_t> index_of;
  for (size_t k = 0; k < classes.size(); ++k) index_of[csv_text(classes[k])] = static_cast<int64_t>(k);
  std::vector<int64_t> indices;
  for (const StoredPrediction& prediction : stored_predictions(csv_path)) {
    const auto found = index_of.find(prediction.label);
    if (found == index_of.end())
      input_error("{} is damaged: there is no class '{}'; repeat the run", csv_path, printable(prediction.label));
    indices.push_back(found->second);
  }
  return torch::tensor(indices, torch::kInt64);
}

void require_pictures_of_run(const ImageSet& images, const std::vector<std::string>& names, const std::string& path,
                             const std::string& advice) {
  const auto is_of = [](const std::string& cell, const std::string& name) { return cell == csv_text(name); };
  const auto [was, is] = std::mismatch(names.begin(), names.end(), images.names.begin(), images.names.end(), is_of);
  if (was == names.end() && is == images.names.end()) return;
  input_error("{} no longer holds the pictures of the run ({} now, {} then), first {}; {}", path,
              thousands(images.size()), thousands(static_cast<int64_t>(names.size())), was != names.end() ? *was : *is,
              advice);
}

}  // namespace tributary
