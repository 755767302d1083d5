// A subcommand of the program: declares its flags, then runs. One short file each; the work is in the library.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "tributary/base/options.h"
#include "tributary/data/image_set.h"
#include "tributary/data/load.h"
#include "tributary/device/device.h"
#include "tributary/model/ensemble.h"
#include "tributary/model_io/import_weights.h"

namespace tributary::cli {

class DistributedSession;

// The options of an action of a command that has several.
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
  // The processes that do it together, or null.
  virtual const DistributedSession* session() const { return nullptr; }
  // Its options, for the reference page.
  virtual const OptionTable& options() const = 0;
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

// What most commands take: where to work, how to speak, and a file with further options.
struct CommonOptions {
  DeviceChoice device = DeviceChoice::kAuto;
  int64_t threads = 0;
  bool json = false;
  std::string config;

  void declare(OptionTable& table);
  // Reads the TOML file, if one is named, into the table; what it says is applied by the caller.
  void read_config(OptionTable& table) const;
  // The same, applied at once: the file's values, then the flags.
  void apply(OptionTable& table) const;
  // Sets the number of threads, which then is what is really in use, and gives the device.
  torch::Device prepare();
  // The same for one of several processes on a machine, who share its threads as whoever started them says.
  torch::Device prepare(const DistributedSession& session);
};

// How pictures are read for an ensemble.
struct DataOptions {
  std::string root;
  double max_skipped = 0.1;
  double memory = 0, gpu_memory = 0, feature_memory = 0;  // GiB

  void declare(OptionTable& table);
  LoadOptions for_preprocessing(const Preprocessing& preprocessing, int64_t threads) const;
};

// Says that batches are from here on taken in pieces (train/memory_retry.h).
void report_memory_retry(const std::string& command, int64_t micro_batch);

// Tells about pictures that were set aside, on standard error.
void report_skipped(const std::string& command, const std::vector<SkippedPicture>& skipped, int64_t total);

// One model from a run folder, a mixture file or a source; several sources make a plain ensemble under `rule`.
Ensemble load_models(const std::vector<std::string>& paths, const std::string& rule, const ImportOptions& options);

// The domain that a path speaks of: "photos/webcam/" and "data/webcam/train-images.idx" are both about webcam.
std::string domain_of(const std::string& path);

// Whether a person watches standard error.
bool is_terminal();

}  // namespace tributary::cli
