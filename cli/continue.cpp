#include <filesystem>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/terminal_listener.h"
#include "tributary/artefacts/run_folder.h"
#include "tributary/artefacts/run_summary.h"
#include "tributary/base/error.h"
#include "tributary/base/interrupt.h"
#include "tributary/base/json_text.h"
#include "tributary/base/option_values.h"
#include "tributary/base/print.h"
#include "tributary/base/text.h"
#include "tributary/model_io/model_file.h"
#include "tributary/run/adaptation_setup.h"

namespace tributary::cli {
namespace {

// Adapts the result of a run further, to the same pictures and with the same options.
class Continue : public Command {
 public:
  std::string name() const override { return "continue"; }
  std::string summary() const override { return "Adapt the result of a run further, with labels of some pictures"; }
  std::string example() const override { return "tributary continue runs/photos --labels runs/photos/labels.csv"; }

  void declare(CLI::App& app) override {
    app.add_option("from", from_, "folder of a finished run, whose options and pictures are used again")
        ->required()
        ->type_name("FOLDER");
    OptionTable& table = setup_.table;
    table.help_group("Input and output", {"labels", "run", "test", "json"});
    table.help_group("Training", {"rounds", "inner_epochs", "given_weight", "keep", "seed"});
    table.help_group("Interrupted runs", {"save_every", "restart"});
    table.help_group("Hardware", {"device", "threads", "precision", "processes"});
    table.add_to(app);
  }

  const OptionTable& options() const override { return setup_.table; }
  std::string same_options() const override { return "adapt"; }
  const DistributedSession* session() const override { return &setup_.session; }

  void run() override {
    catch_interrupts();
    AdaptationRunOptions& options = setup_.options;
    for (const char* fixed : {"config", "source", "target"})
      if (setup_.table.given(fixed))
        input_error("--{} is that of the run {}; leave it out, or use tributary adapt", fixed, from_);
    refuse_import_options();
    const std::string model = model_path(from_);
    if (model == from_) input_error("{} is not a run folder; name a run folder", from_);
    refuse_links_in_run(from_);  // the adapted sources are written there
    setup_.table.read_toml(from_ + "/config.toml");
    setup_.resolve();
    const bool trust = options.import.trust;  // all other options describe the weights that the run started from
    options.import = ImportOptions();
    options.import.trust = trust;
    if (options.folder.empty())
      options.folder = std::filesystem::path(from_ + "/").parent_path().string() + "-continued";
    setup_.session.begin();
    options.sources = adapted_sources(model);
    options.estimate.adapted_sources = true;
    options.student = {};  // it is one of them now
    TerminalListener listener(name(), setup_.common.json);
    const std::optional<AdaptationRunResult> result = setup_.prepare(listener).run();
    if (!result) return;
    if (result->already_finished)
      print_message(
          fmt::format("tributary continue: {} is already finished; run it again with --restart", options.folder));
    if (setup_.common.json) {
      print(json_text(result->summary, 2) + "\n");
      return;
    }
    print(run_summary_text(result->summary));
    print_report_line(options);
  }

 private:
  void refuse_import_options() const {
    OptionTable table;
    ImportOptions import;
    tributary::declare(table, import);
    for (const Option& option : table.options())
      if (option.key != "trust" && setup_.table.given(option.key))
        input_error("{} describes weights of other programs, but the models of {} hold their own; leave it out",
                    flag_of_key(option.key), from_);
  }

  // The adapted sources of the run, each in a file of its own in its folder.
  std::vector<std::string> adapted_sources(const std::string& model) const {
    Ensemble ensemble = load_ensemble(model, setup_.options.import);
    std::vector<std::string> files;
    for (int64_t j = 0; j < ensemble.size(); ++j) {
      keep_known_classes(ensemble.sources[j]);  // a file of one source has no others
      files.push_back(fmt::format("{}/adapted-{}.safetensors", from_, j));
      if (setup_.session.first()) save_source(files.back(), ensemble.sources[j]);
    }
    return files;
  }

  AdaptationSetup setup_;
  std::string from_;
};

}  // namespace

std::unique_ptr<Command> make_continue() {
  return std::make_unique<Continue>();
}

}  // namespace tributary::cli
