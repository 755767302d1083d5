#include "tributary/model_io/student.h"

#include <optional>
#include <utility>

#include "tributary/base/error.h"

namespace tributary {
namespace {

constexpr const char* kSmallNetwork = "lenet";

std::string network_of(const StudentOptions& options, const std::optional<WeightFile>& weights,
                       const SourceModel* beside) {
  if (weights) return weights->info.architecture;
  if (!options.network.empty()) return options.network;
  return beside ? beside->info().architecture : kSmallNetwork;
}

}  // namespace

void declare(OptionTable& table, StudentOptions& options) {
  table
      .text("adapt", "init", &options.init,
            "initial weights of the student that learns from scores; small pictures need none")
      .metavar("FILE");
  table
      .text("adapt", "student", &options.network,
            "network of that student; by default that of --init, or lenet for small pictures")
      .metavar("NETWORK");
}

SourceModel make_student(const StudentOptions& options, const ImportOptions& import, const SourceModel* beside,
                         const std::vector<std::string>& classes) {
  std::optional<WeightFile> weights;
  if (!options.init.empty()) {
    ImportOptions own;
    if (beside)
      own.size = beside->info().preprocessing.size;
    else
      own = import;
    own.architecture = options.network;
    own.classes.clear();
    weights = read_weights(options.init, own);
  }
  const std::string network = network_of(options, weights, beside);
  if (!weights && architecture(network).photographs)
    input_error(
        "a student of {} needs more pictures than one target has to learn from random weights; give it ImageNet "
        "weights "
        "with --init FILE",
        network);
  ModelInfo info = fresh_info("student", network, classes);
  if (!beside) apply_preprocessing(import, architecture(network), info);
  if (beside) info.preprocessing = beside->info().preprocessing;
  require_preprocessing(architecture(network), info.preprocessing);
  if (weights) {
    if (!beside) info.preprocessing = weights->info.preprocessing;
    info.normalisation = weights->info.normalisation;
    info.first_stride = weights->info.first_stride;
  }
  SourceModel student(info, Random(options.seed, Purpose::kInitialise));
  if (weights) import_backbone(*weights, options.init, student);
  return student;
}

}  // namespace tributary
