#include "tributary/estimate/calibrate.h"

#include "tributary/estimate/calibration_error.h"
#include "tributary/estimate/confidence_threshold.h"
#include "tributary/estimate/temperature.h"

namespace tributary {

Calibration calibrate(const Tensor& logits, const Tensor& label, const std::string& split) {
  const torch::NoGradGuard no_grad;
  const Tensor z = logits.to(torch::kCPU, torch::kFloat64), truth = label.to(torch::kCPU);
  const Tensor right = z.argmax(1) == truth;
  Calibration calibration;
  calibration.count = truth.size(0);
  calibration.accuracy = right.to(torch::kFloat64).mean().item<double>();
  calibration.temperature = fit_temperature(z, truth);
  const ConfidenceScores scores = confidence_scores(z, calibration.temperature);
  calibration.threshold_confidence = threshold_of_accuracy(scores.confidence, right);
  calibration.threshold_entropy = threshold_of_accuracy(scores.negative_entropy, right);
  calibration.ece = expected_calibration_error(std::get<0>(z.softmax(1).max(1)), right);
  calibration.ece_scaled = expected_calibration_error(scores.confidence, right);
  const Tensor shares =
      (at::bincount(truth, {}, z.size(1)).to(torch::kFloat64) / static_cast<double>(truth.size(0))).contiguous();
  calibration.class_share.assign(shares.data_ptr<double>(), shares.data_ptr<double>() + shares.numel());
  calibration.split = split;
  return calibration;
}

}  // namespace tributary
