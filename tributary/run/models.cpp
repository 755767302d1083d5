#include "tributary/run/models.h"

#include <filesystem>

#include "tributary/artefacts/run_folder.h"
#include "tributary/base/error.h"
#include "tributary/base/path_names.h"
#include "tributary/model_io/model_file.h"

namespace tributary {

Ensemble load_models(const std::vector<std::string>& models, const std::string& rule, const ImportOptions& options,
                     std::vector<std::string>* notices) {
  if (models.size() == 1 && is_score_file(models.front()))
    input_error("{} holds scores of pictures, not a model; only tributary adapt takes it", models.front());
  Ensemble ensemble = models.size() == 1 ? load_ensemble(model_path(models.front()), options, notices)
                                         : load_sources(models, options, notices);
  if (rule.empty()) return ensemble;
  for (const auto& [name, combination] : combination_names()) {
    if (name != rule) continue;
    const bool weighted =
        combination == Combination::kWeightedLogits || combination == Combination::kWeightedProbabilities;
    if (weighted && !ensemble.mixture.weights.defined())
      input_error("--rule {}: these models have no weights; only an adapted mixture has", rule);
    if (ensemble.size() == 1)
      input_error("--rule {}: {} is one model, so there is nothing to combine; leave it out", rule, models.front());
    if (ensemble.mixture.rule != combination) ensemble.mixture.temperature = 1;  // it calibrates its own rule
    ensemble.mixture.rule = combination;
    return ensemble;
  }
  input_error("--rule {}: choose one of mean_prob, mean_logit, vote, weighted_logits, weighted_probabilities", rule);
}

std::string domain_of(const std::string& path, const std::string& otherwise) {
  std::filesystem::path given = std::filesystem::path(path).lexically_normal();
  if (!given.has_filename()) given = given.parent_path();
  if (!std::filesystem::is_directory(path)) given = given.parent_path();
  const std::string name = telling_folder(given.string());
  if (!name.empty()) return name;
  return otherwise.empty() ? given.filename().string() : otherwise;
}

}  // namespace tributary
