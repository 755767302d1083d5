#include "tributary/methods/method_options.h"

#include <limits>

#include "tributary/methods/learner.h"
#include "tributary/model/backbone.h"

namespace tributary {

TrainingSchedule MethodOptions::schedule(const Ensemble& ensemble, int64_t default_batch,
                                         int64_t default_epochs) const {
  TrainingSchedule schedule;
  schedule.seed = static_cast<uint64_t>(seed);
  schedule.batch = batch > 0 ? batch : default_batch;
  schedule.rounds = epochs > 0 ? epochs : default_epochs;
  schedule.augmentation = resolve_defaults(augmentation, ensemble.sources.front().info(), /*adapting=*/false);
  schedule.precision = precision;
  schedule.cuda_graph = cuda_graph;
  return schedule;
}

void declare(OptionTable& table, MethodOptions& options) {
  const std::string section = "adapt";
  table.integer("", "seed", &options.seed, 0, std::numeric_limits<int64_t>::max(), "random seed").metavar("NUMBER");
  table.text(section, "benchmark", &options.benchmark,
             "start from the paper's hyper-parameters for a benchmark, such as digit-five or office-home/art");
  table.integer(section, "batch", &options.batch, 2, 65536, "pictures per batch");
  table.number(section, "rate_backbone", &options.rate_backbone, 0, 10,
               "learning rate of the backbones; 0 takes the architecture's default");
  table.number(section, "rate_bottleneck", &options.rate_bottleneck, 0, 10, "learning rate of the bottlenecks");
  declare(table, section, options.backbone);
  declare(table, section, options.augmentation);
  declare(table, section, options.precision);
  table
      .flag(section, "cuda_graph", &options.cuda_graph,
            "capture a training step as a CUDA graph and replay it, instead of launching every kernel")
      .alias("record");
}

}  // namespace tributary
