// A subcommand of the program: parses its options and prints the results. The work is done by the library.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "tributary/base/options.h"
#include "tributary/data/image_set.h"
#include "tributary/data/load.h"
#include "tributary/model/ensemble.h"
#include "tributary/model_io/import_weights.h"
#include "tributary/run/command_options.h"

namespace tributary {
struct AdaptationRunOptions;
}

namespace tributary::cli {

// The options of one action of a command with several actions.
struct FurtherOptions {
  std::string action, example;
  const OptionTable& options;
};

class Command {
 public:
  virtual ~Command() = default;
  // Name and one-line description; `example` closes the help text.
  virtual std::string name() const = 0;
  virtual std::string summary() const = 0;
  virtual std::string example() const = 0;
  virtual void declare(CLI::App& app) = 0;
  virtual void run() = 0;
  // The session of a command that can run on several processes, or null.
  virtual const DistributedSession* session() const { return nullptr; }
  // The options, for the reference page.
  virtual const OptionTable& options() const = 0;
  // The command whose options these are, too, so that the reference page need not repeat them; empty: none.
  virtual std::string same_options() const { return {}; }
  virtual std::vector<FurtherOptions> further_options() const { return {}; }
};

std::unique_ptr<Command> make_demo();
std::unique_ptr<Command> make_train();
std::unique_ptr<Command> make_adapt();
std::unique_ptr<Command> make_predict();
std::unique_ptr<Command> make_evaluate();
std::unique_ptr<Command> make_distill();
std::unique_ptr<Command> make_export();
std::unique_ptr<Command> make_inspect();
std::unique_ptr<Command> make_data();
std::unique_ptr<Command> make_bench();
std::unique_ptr<Command> make_report();
std::unique_ptr<Command> make_suggest();
std::unique_ptr<Command> make_continue();
// All of them, in the order of the help.
std::vector<std::unique_ptr<Command>> make_commands();

// Prints skipped files on standard error, the first few of each reason by name. `total` counts all pictures and them.
void report_skipped(const std::string& command, const std::vector<SkippedPicture>& skipped, int64_t total);

// Loads the models that a command names (run/models.h) and prints what load_sources() notes on standard error.
Ensemble load_named_models(const std::string& command, const std::vector<std::string>& models, const std::string& rule,
                           const ImportOptions& options);

// Prints where the report of an adaptation is, if it has one.
void print_report_line(const AdaptationRunOptions& options);

// Whether standard error is a terminal.
bool is_terminal();

}  // namespace tributary::cli
