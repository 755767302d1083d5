#include <iostream>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "tributary/base/json_text.h"
#include "tributary/base/print.h"
#include "tributary/base/text.h"
#include "tributary/experiments/digits_demo.h"

namespace tributary::cli {
namespace {

class Demo : public Command {
 public:
  std::string name() const override { return "demo"; }
  std::string summary() const override { return "Adapt four digit models to a fifth domain they never saw"; }
  std::string example() const override { return "tributary demo --target all --seeds 3 --oracle"; }

  void declare(CLI::App& app) override {
    common_.declare(table_);
    tributary::declare(table_, options_);
    table_.flag("demo", "markdown", &markdown_, "print the table as Markdown").transient();
    table_.help_group("Experiment", {"target", "architecture", "pictures", "seeds", "oracle", "variant", "ablations"});
    table_.help_group("Training", {"source_epochs", "rounds", "inner_epochs", "batch", "seed"});
    table_.help_group("Output", {"markdown", "json", "config"});
    table_.help_group("Hardware", {"device", "threads"});
    table_.add_to(app);
  }

  const OptionTable& options() const override { return table_; }

  void run() override {
    common_.read_config(table_);
    resolve_options(table_, options_.adapt);
    const torch::Device device = common_.prepare();
    Progress progress(std::cerr, is_terminal(), false);
    const DemoResult result = run_digits_demo(options_, device, progress);
    progress.finish();
    if (common_.json) {
      print(json_text(demo_json(result, options_), 2) + "\n");
      return;
    }
    print(fmt::format(
        "\nAccuracy in % on {} unseen test pictures of the target, after the last of {} round{} of {} inner epoch{} "
        "({}, {} pictures per domain;\nthe paper trains longer: 20 rounds of 3). The target's labels were used only "
        "for this table{}.\n\n{}\n{} in total.\n",
        thousands(options_.pictures), options_.adapt.rounds, options_.adapt.rounds == 1 ? "" : "s",
        options_.adapt.inner_epochs, options_.adapt.inner_epochs == 1 ? "" : "s", options_.architecture,
        thousands(options_.pictures),
        options_.oracle ? " and for the oracle, which selects its training samples with them" : "",
        demo_table(result, markdown_), duration(result.seconds)));
  }

 private:
  CommonOptions common_;
  DigitsDemoOptions options_ = demo_defaults();
  bool markdown_ = false;
  OptionTable table_;
};

}  // namespace

std::unique_ptr<Command> make_demo() {
  return std::make_unique<Demo>();
}

}  // namespace tributary::cli
