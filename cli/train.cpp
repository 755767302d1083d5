#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/terminal_listener.h"
#include "tributary/base/error.h"
#include "tributary/base/files.h"
#include "tributary/base/interrupt.h"
#include "tributary/base/json_text.h"
#include "tributary/base/print.h"
#include "tributary/base/text.h"
#include "tributary/run/source_training_run.h"
#include "tributary/train/memory_retry.h"

namespace tributary::cli {
namespace {

class Train : public Command {
 public:
  std::string name() const override { return "train"; }
  std::string summary() const override { return "Train one source model on a labelled domain"; }
  std::string example() const override {
    return "tributary train --data photos/webcam --init resnet50.pth --out webcam.safetensors";
  }

  void declare(CLI::App& app) override {
    common_.declare(table_);
    table_.integer("", "seed", &seed_, 0, INT64_MAX, "random seed").metavar("NUMBER");
    table_
        .text("train", "data", &options_.data,
              "labelled pictures: class folders, a list with labels, tar shards, NAME-images.idx or digits in a .mat "
              "file")
        .metavar("DATA");
    table_
        .text("train", "validation", &options_.validation,
              "labelled pictures of the same domain, to choose the best iterate")
        .metavar("DATA");
    table_.text("train", "out", &options_.out, "model file to write").metavar("FILE").transient();
    table_
        .text("train", "name", &options_.name, "name of the source in tables; by default taken from the path of --data")
        .transient();
    table_
        .text("train", "classes", &options_.classes,
              "text file with class names, one per line, in the order of the labels; for data with numbers as labels")
        .metavar("FILE");
    table_
        .text("train", "init", &options_.init,
              "initial weights of the backbone, as from ImageNet: a PyTorch file, safetensors or a model file")
        .metavar("FILE");
    tributary::declare(table_, options_.training);
    declare_recompute(table_, "train", options_.recompute);
    declare_network(table_, options_.import);
    data_.declare(table_);
    tributary::declare(table_, options_.checkpoints);
    session_.declare(table_);
    table_.help_group("Input and output", {"data", "validation", "root", "classes", "out", "name", "config", "json"});
    table_.help_group("Network", {"architecture", "init", "size"});
    table_.help_group("Training", {"epochs", "batch", "rate_backbone", "rate_head", "label_smoothing", "keep", "seed"});
    table_.help_group("Interrupted runs", {"save_every", "restart"});
    table_.help_group("Hardware", {"device", "threads", "precision", "recompute", "gpu_memory", "processes"});
    table_.add_to(app);
  }

  const OptionTable& options() const override { return table_; }
  const DistributedSession* session() const override { return &session_; }

  void run() override {
    catch_interrupts();
    common_.apply(table_);
    if (options_.data.empty()) input_error("name the labelled pictures with --data");
    if (options_.out.empty()) input_error("name the model file to write with --out");
    require_writable_file(options_.out);
    if (!options_.validation.empty()) refuse_split();
    session_.begin();
    options_.device = common_.prepare(session_);
    session_.join(options_.device);
    options_.seed = static_cast<uint64_t>(seed_);
    options_.load = data_.load_options(common_.threads);
    TerminalListener listener(name(), common_.json);
    SourceTrainingRun training(options_, run_configuration(table_, common_.threads, session_), session_, listener);
    const std::optional<SourceTrainingRunResult> result = training.run();
    if (!result) return;
    if (result->already_finished)
      print_message(
          fmt::format("tributary train: {} is already finished; train it again with --restart", options_.out));
    show(*result);
  }

 private:
  // Pictures for validation are either given or split off.
  void refuse_split() const {
    const SourceTrainingOptions unset;
    const char* const flag = options_.training.full                               ? "--full"
                             : options_.training.train_share != unset.train_share ? "--train-share"
                                                                                  : nullptr;
    if (flag != nullptr) input_error("{} has no effect with --validation; leave one of the two out", flag);
  }

  void show(const SourceTrainingRunResult& result) const {
    if (common_.json) {
      nlohmann::json object = {{"model", result.model},
                               {"name", result.name},
                               {"classes", result.classes},
                               {"pictures", result.pictures},
                               {"validation_pictures", result.validation_pictures},
                               {"validation_accuracy", 100 * result.validation_accuracy}};
      if (result.memory.recompute != Recompute::kNone) object["recompute"] = name_of(result.memory.recompute);
      if (result.memory.micro_batch > 0) object["micro_batch"] = result.memory.micro_batch;
      if (result.gpu_peak_bytes > 0) object["gpu_peak_bytes"] = result.gpu_peak_bytes;
      print(json_text(object, 2) + "\n");
      return;
    }
    print(fmt::format("{}: {} trained on {} pictures of {} classes, {} % on {} {}\n", safe_line(result.model),
                      result.architecture, thousands(result.pictures), result.classes,
                      percent(result.validation_accuracy), thousands(result.validation_pictures),
                      options_.training.full ? "of them" : "validation pictures"));
  }

  CommonOptions common_;
  DataOptions data_;
  SourceTrainingRunOptions options_;
  DistributedSession session_;
  int64_t seed_ = 0;
  OptionTable table_;
};

}  // namespace

std::unique_ptr<Command> make_train() {
  return std::make_unique<Train>();
}

}  // namespace tributary::cli
