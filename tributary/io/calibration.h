// The calibration of a source model on labelled pictures of its own domain, which `train` stores in its file.
//
// Labelled pictures of a source exist only while it is trained. Its accuracy on a target can later be estimated from
// the thresholds, and its confidence corrected by the temperature (docs/method.md, Estimate of the accuracy).
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace tributary {

// Thresholds refer to p = softmax(z / temperature). Shares and accuracies are in 0..1.
struct Calibration {
  int64_t count = 0;                // pictures
  double accuracy = 0;              // of the labels argmax z
  double temperature = 1;           // minimises the mean negative log-likelihood
  double threshold_confidence = 0;  // of max p: as many pictures are below as are wrong; infinite if all are wrong
  double threshold_entropy = 0;     // the same of sum p ln p
  double ece = 0;                   // expected calibration error of softmax(z)
  double ece_scaled = 0;            // of p
  std::vector<double> class_share;  // per class, of the true labels
  std::string split = "all";        // "odd": the even pictures of the validation set chose the iterate
  bool operator==(const Calibration&) const = default;
};

nlohmann::json to_json(const Calibration& calibration);
// Throws an exception with the reason if a value is missing or out of range for a model of so many classes.
Calibration calibration_from_json(const nlohmann::json& object, size_t classes);

}  // namespace tributary
