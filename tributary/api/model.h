// A model, adapted or not: predictions, evaluation and export.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tributary/api/pictures.h"
#include "tributary/api/settings.h"
#include "tributary/data/skipped.h"

namespace tributary {

struct Predictions {
  std::vector<std::string> names;       // per picture: its path, or "[17]" for pixels in memory
  std::vector<SkippedPicture> skipped;  // pictures that could not be read; they have no prediction
  Tensor labels;                        // int64 [n], indices of the model's classes
  Tensor probabilities;                 // float [n, K], of the mixture
  Tensor logits;                        // float [m, n, K], of every source
};

struct Evaluation {
  int64_t pictures = 0;
  double accuracy = 0;                          // in 0..1
  std::vector<double> source_accuracies;        // of each source alone
  std::vector<double> class_accuracies;         // NaN for a class without pictures
  std::vector<std::vector<int64_t>> confusion;  // [truth][predicted]
  std::vector<SkippedPicture> skipped;
};

class Model {
 public:
  // A run folder, a mixture file or a source; several sources are a plain ensemble. `settings` are those of
  // model_options(): device, threads, the preprocessing of imported weights, ...
  explicit Model(const std::string& path, const Settings& settings = {});
  explicit Model(const std::vector<std::string>& sources, const Settings& settings = {});

  const std::vector<std::string>& classes() const;
  std::vector<std::string> sources() const;  // their names
  Tensor weights() const;                    // float [m], the trust in every source; undefined if the rule has none
  const Preprocessing& preprocessing() const;

  Predictions predict(const Pictures& pictures) const;
  // `pictures` are class folders, a labelled list, ... or pixels with labels.
  Evaluation evaluate(const Pictures& pictures) const;

  // Files for other programs (docs/deployment.md): ONNX; TorchScript; our own format; a state dictionary; a JSON file
  // with preprocessing and classes.
  void export_onnx(const std::string& path) const;
  void export_torchscript(const std::string& path) const;
  void export_safetensors(const std::string& path) const;
  void export_state_dict(const std::string& path) const;
  void export_card(const std::string& path) const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace tributary
