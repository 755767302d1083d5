#include "tributary/report/predictions.h"

#include <fmt/format.h>

#include <iterator>
#include <nlohmann/json.hpp>

namespace tributary {
namespace {

// A field with a comma, quote or line break goes in quotes, its quotes doubled (RFC 4180).
std::string csv_field(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + '"';
}

}  // namespace

std::string predictions_text(const ImageSet& images, const std::vector<std::string>& classes,
                             const Tensor& probabilities, const Tensor& logits, PredictionFormat format) {
  const auto [confidence, predicted] = probabilities.max(-1);
  const Tensor agreement = (logits.argmax(-1) == predicted).to(torch::kFloat32).mean(0).cpu();
  const Tensor host_confidence = confidence.to(torch::kCPU, torch::kFloat32).contiguous();
  const Tensor host_predicted = predicted.cpu().contiguous();
  std::string text = format == PredictionFormat::kCsv ? "path,class,confidence,agreement\n" : "";
  for (int64_t i = 0; i < images.size(); ++i) {
    const std::string& name = classes[host_predicted.data_ptr<int64_t>()[i]];
    const float sure = host_confidence.data_ptr<float>()[i];
    const float agreed = agreement.data_ptr<float>()[i];
    if (format == PredictionFormat::kCsv)
      fmt::format_to(std::back_inserter(text), "{},{},{:.6f},{:.4g}\n", csv_field(images.names[i]), csv_field(name),
                     sure, agreed);
    else
      text +=
          nlohmann::json{{"path", images.names[i]}, {"class", name}, {"confidence", sure}, {"agreement", agreed}}.dump(
              -1, ' ', false, nlohmann::json::error_handler_t::replace) +
          "\n";
  }
  return text;
}

}  // namespace tributary
