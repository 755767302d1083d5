#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/terminal_listener.h"
#include "tributary/artefacts/run_summary.h"
#include "tributary/base/error.h"
#include "tributary/base/interrupt.h"
#include "tributary/base/json_text.h"
#include "tributary/base/print.h"
#include "tributary/base/text.h"
#include "tributary/run/adaptation_setup.h"
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
    OptionTable& table = setup_.table;
    table.help_group("Input and output", {"source", "target", "run", "test", "labels", "config", "json"});
    table.help_group("Imported weights", {"classes", "size", "trust", "last_layer"});
    table.help_group("Method", {"method", "variant"});
    table.help_group("Training", {"init", "rounds", "inner_epochs", "epochs", "batch", "rate_backbone",
                                  "rate_bottleneck", "keep", "seed"});
    table.help_group("Report", {"report", "live", "estimate", "accept_error"});
    table.help_group("Interrupted runs", {"save_every", "restart"});
    table.help_group("Hardware", {"device", "threads", "precision", "processes"});
    table.add_to(app);
  }

  const OptionTable& options() const override { return setup_.table; }
  const DistributedSession* session() const override { return &setup_.session; }

  void run() override {
    catch_interrupts();
    setup_.resolve();  // first, so that mistakes in the options are reported before anything is read
    AdaptationRunOptions& options = setup_.options;
    if (options.sources.empty()) input_error("name the source models with --source FILE FILE ...");
    if (options.target.empty()) input_error("name the unlabelled pictures with --target");
    if (options.folder.empty()) options.folder = "runs/" + domain_of(options.target);
    setup_.session.begin();
    TerminalListener listener(name(), setup_.common.json);
    const std::optional<AdaptationRunResult> result = setup_.prepare(listener).run();
    if (!result) return;
    if (result->already_finished)
      print_message(
          fmt::format("tributary adapt: {} is already finished; run it again with --restart", options.folder));
    show(result->summary);
  }

 private:
  void show(const nlohmann::json& summary) const {
    if (setup_.common.json) {
      print(json_text(summary, 2) + "\n");
      return;
    }
    print(run_summary_text(summary));
    print_report_line(setup_.options);
  }

  AdaptationSetup setup_;
};

}  // namespace

std::unique_ptr<Command> make_adapt() {
  return std::make_unique<Adapt>();
}

}  // namespace tributary::cli
