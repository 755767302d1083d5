#include "tributary/run/predictions.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "tributary/base/csv.h"
#include "tributary/base/error.h"
#include "tributary/base/files.h"
#include "tributary/base/json_text.h"
#include "tributary/base/text.h"

namespace tributary {
namespace {

using nlohmann::json;

// Removes one row from the start of `text`, which ends in a line break.
std::vector<std::string> take_csv_row(std::string_view& text) {
  std::vector<std::string> fields(1);
  bool quoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted && c == '"' && i + 1 < text.size() && text[i + 1] == '"') {
      fields.back() += text[++i];
    } else if (c == '"') {
      quoted = !quoted;
    } else if (!quoted && c == ',') {
      fields.emplace_back();
    } else if (!quoted && c == '\n') {
      text.remove_prefix(i + 1);
      return fields;
    } else {
      fields.back() += c;
    }
  }
  text = {};
  return {};
}

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

std::string csv_line(const Line& line) {
  std::string text =
      fmt::format("{},{},{:.6f},{:.4g}", csv_field(line.path), csv_field(line.name), line.confidence, line.agreement);
  for (const std::string& name : line.by_source) text += "," + csv_field(name);
  if (line.check) text += *line.check ? ",yes" : ",no";
  return text + ",\n";
}

}  // namespace

PredictedLabels predicted_labels(const Tensor& probabilities, const Tensor& logits) {
  const auto [confidence, predicted] = probabilities.max(-1);
  return {predicted.cpu().contiguous(), confidence.to(torch::kCPU, torch::kFloat32).contiguous(),
          logits.argmax(-1).cpu().contiguous()};
}

std::string predictions_text(const ImageSet& images, const std::vector<SkippedPicture>& skipped,
                             const Ensemble& ensemble, const Tensor& probabilities, const Tensor& logits,
                             PredictionFormat format) {
  return predictions_text(images, skipped, ensemble, predicted_labels(probabilities, logits), format);
}

std::string predictions_text(const ImageSet& images, const std::vector<SkippedPicture>& skipped,
                             const Ensemble& ensemble, const PredictedLabels& predictions, PredictionFormat format) {
  const auto& [host_predicted, host_confidence, by_source, check] = predictions;
  const Tensor agreement = (by_source == host_predicted).to(torch::kFloat32).mean(0);
  const int64_t sources = ensemble.size() > 1 ? ensemble.size() : 0;
  const bool csv = format == PredictionFormat::kCsv;
  const auto class_name = [&](int64_t index) { return ensemble.classes()[index]; };

  std::string text;
  if (csv) {
    text = "path,class,confidence,agreement";
    for (int64_t j = 0; j < sources; ++j) text += "," + csv_field(ensemble.sources[j].info().name);
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
      object["sources"].push_back({{"name", ensemble.sources[j].info().name}, {"class", line.by_source[j]}});
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

namespace {

// A field as it was before csv_field() marked it as text.
std::string plain_field(std::string field) {
  if (field.size() > 1 && field[0] == '\'' && csv_field(field.substr(1)) == field) field.erase(0, 1);
  return field;
}

// One column of the pictures with a prediction.
std::vector<std::string> column_of(const std::string& csv_path, size_t column) {
  const std::string text = read_text(csv_path);
  std::string_view rest = text;
  const std::vector<std::string> titles = take_csv_row(rest);
  if (titles.size() < 5 || titles.front() != "path" || titles.back() != "error")
    input_error("{} is not the list of predictions that adapt writes; repeat the run", csv_path);
  std::vector<std::string> fields;
  while (!rest.empty()) {
    std::vector<std::string> row = take_csv_row(rest);
    if (row.size() != titles.size()) input_error("{} is damaged; repeat the run", csv_path);
    if (row.back().empty()) fields.push_back(plain_field(std::move(row[column])));
  }
  return fields;
}

}  // namespace

std::vector<std::string> predicted_pictures(const std::string& csv_path) {
  return column_of(csv_path, 0);
}

Tensor predicted_classes(const std::string& csv_path, const std::vector<std::string>& classes) {
  std::vector<int64_t> indices;
  for (const std::string& name : column_of(csv_path, 1)) {
    const auto found = std::find(classes.begin(), classes.end(), name);
    if (found == classes.end())
      input_error("{} is damaged: there is no class '{}'; repeat the run", csv_path, printable(name));
    indices.push_back(found - classes.begin());
  }
  return torch::tensor(indices, torch::kInt64);
}

}  // namespace tributary
