#include "tributary/run/adaptation_setup.h"

#include <utility>

#include "tributary/train/memory_retry.h"

namespace tributary {

AdaptationSetup::AdaptationSetup() {
  common.declare(table);
  table
      .texts(
          "", "source", &options.sources,
          "source models: model files, PyTorch weights or folders with source_F.pt, or scores of the target pictures "
          "(.csv, .npy, .npz); FILE:classes=LIST,name=WARD gives one its own name or options of imported weights")
      .metavar("FILE");
  table
      .text("", "target", &options.target,
            "unlabelled pictures: a folder, a list file, tar shards, NAME-images.idx or digits in a .mat file")
      .metavar("DATA");
  table
      .text("", "run", &options.folder,
            "folder of the run; by default runs/DOMAIN, named after the target, or RUN-continued of tributary continue")
      .metavar("FOLDER")
      .transient();
  table
      .text("", "test", &options.test,
            "labelled pictures of the target domain, only to show the accuracy after every round")
      .metavar("DATA");
  table
      .text("", "oracle_labels", &options.oracle_labels,
            "labels of the target pictures, for the oracle: it trains on the samples whose pseudo-label is right")
      .metavar("DATA");
  table
      .text("", "labels", &options.labels,
            "labels of some target pictures to train on: a CSV file with the columns picture and label, as tributary "
            "suggest writes it")
      .metavar("FILE");
  choice.declare(table);
  declare_keep(table, options.keep);
  tributary::declare(table, options.estimate);
  tributary::declare(table, options.student);
  tributary::declare(table, options.outputs);
  tributary::declare(table, options.checkpoints);
  declare_recompute(table, "adapt", options.recompute);
  session.declare(table);
  data.declare(table);
  tributary::declare(table, options.import);
}

void AdaptationSetup::resolve() {
  common.read_config(table);
  choice.resolve();
  if (!options.oracle_labels.empty()) choice.require_oracle();
  if (!options.labels.empty()) choice.require_labels();
  if (!options.labels.empty() && !options.oracle_labels.empty())
    input_error("--labels and --oracle-labels exclude each other: the oracle knows every label");
  if (options.outputs.live && !options.outputs.page)
    input_error("--live writes the report that --no-report leaves out; leave one of the two out");
  if (!options.outputs.history && (options.outputs.live || table.given("report") == "true"))
    input_error("a report needs the history of its rounds; leave out --no-history");
}

AdaptationRun AdaptationSetup::prepare(RunListener& listener) {
  options.device = common.prepare(session);
  session.join(options.device);
  options.method = choice.entry();
  options.method_options = choice.common();
  options.batch = choice.batch();
  options.student.seed = static_cast<uint64_t>(options.method_options.seed);
  options.load = data.load_options(common.threads);
  options.outputs.report.threads = static_cast<int>(common.threads);
  return AdaptationRun(options, run_configuration(table, common.threads, session), session, listener);
}

}  // namespace tributary
