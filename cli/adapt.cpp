#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/terminal_listener.h"
#include "tributary/artefacts/run_summary.h"
#include "tributary/base/error.h"
#include "tributary/base/interrupt.h"
#include "tributary/base/json_text.h"
#include "tributary/base/print.h"
#include "tributary/base/text.h"
#include "tributary/methods/method_choice.h"
#include "tributary/run/adaptation_run.h"
#include "tributary/run/models.h"

namespace tributary::cli {
namespace {

class Adapt : public Command {
 public:
  std::string name() const override { return "adapt"; }
  std::string summary() const override { return "Adapt several source models together to unlabelled pictures"; }
  std::string example() const override {
    return "tributary adapt --source a.safetensors --source b.safetensors --target photos/ --run runs/photos";
  }

  void declare(CLI::App& app) override {
    common_.declare(table_);
    table_
        .texts("", "source", &options_.sources,
               "source models: model files, PyTorch weights or folders with source_F.pt; FILE:classes=LIST,name=WARD "
               "gives one its own name or options of imported weights")
        .metavar("FILE");
    table_
        .text("", "target", &options_.target,
              "unlabelled pictures: a folder, a list file, tar shards, NAME-images.idx or digits in a .mat file")
        .metavar("DATA");
    table_.text("", "run", &options_.folder, "folder of the run; by default runs/DOMAIN, named after the target")
        .metavar("FOLDER")
        .transient();
    table_
        .text("", "test", &options_.test,
              "labelled pictures of the target domain, only to show the accuracy after every round")
        .metavar("DATA");
    table_
        .text("", "oracle_labels", &options_.oracle_labels,
              "labels of the target pictures, for the oracle: it trains on the samples whose pseudo-label is right")
        .metavar("DATA");
    choice_.declare(table_);
    declare_keep(table_, options_.keep);
    tributary::declare(table_, options_.outputs);
    tributary::declare(table_, options_.checkpoints);
    session_.declare(table_);
    data_.declare(table_);
    tributary::declare(table_, options_.import);
    table_.help_group("Input and output", {"source", "target", "run", "test", "config", "json"});
    table_.help_group("Imported weights", {"classes", "size", "trust", "last_layer"});
    table_.help_group("Method", {"method", "variant"});
    table_.help_group(
        "Training", {"rounds", "inner_epochs", "epochs", "batch", "rate_backbone", "rate_bottleneck", "keep", "seed"});
    table_.help_group("Report", {"report", "live"});
    table_.help_group("Interrupted runs", {"save_every", "restart"});
    table_.help_group("Hardware", {"device", "threads", "precision", "processes"});
    table_.add_to(app);
  }

  const OptionTable& options() const override { return table_; }
  const DistributedSession* session() const override { return &session_; }

  void run() override {
    catch_interrupts();
    common_.read_config(table_);
    choice_.resolve();  // first, so that mistakes in the options are reported before anything is read
    if (!options_.oracle_labels.empty()) choice_.require_oracle();
    if (options_.sources.empty()) input_error("name the source models with --source FILE FILE ...");
    if (options_.target.empty()) input_error("name the unlabelled pictures with --target");
    if (options_.folder.empty()) options_.folder = "runs/" + domain_of(options_.target);
    session_.begin();
    options_.device = common_.prepare(session_);
    session_.join(options_.device);
    options_.method = choice_.entry();
    options_.method_options = choice_.common();
    options_.batch = choice_.batch();
    options_.load = data_.load_options(common_.threads);
    options_.outputs.report.threads = static_cast<int>(common_.threads);
    TerminalListener listener(name(), common_.json);
    AdaptationRun adaptation(options_, run_configuration(table_, common_.threads, session_), session_, listener);
    const std::optional<AdaptationRunResult> result = adaptation.run();
    if (!result) return;
    if (result->already_finished)
      print_message(
          fmt::format("tributary adapt: {} is already finished; run it again with --restart", options_.folder));
    show(result->summary);
  }

 private:
  void show(const nlohmann::json& summary) const {
    if (common_.json) {
      print(json_text(summary, 2) + "\n");
      return;
    }
    print(run_summary_text(summary));
    if (options_.outputs.page) print(fmt::format("report       {}/report.html\n", safe_line(options_.folder)));
  }

  CommonOptions common_;
  DataOptions data_;
  AdaptationRunOptions options_;
  MethodChoice choice_;
  DistributedSession session_;
  OptionTable table_;
};

}  // namespace

std::unique_ptr<Command> make_adapt() {
  return std::make_unique<Adapt>();
}

}  // namespace tributary::cli
