#include <unistd.h>

#include <ATen/Parallel.h>

#include <filesystem>
#include <iostream>

#include "cli/command.h"
#include "cli/distributed_session.h"
#include "tributary/artefacts/run_folder.h"
#include "tributary/base/error.h"
#include "tributary/base/memory.h"
#include "tributary/base/text.h"
#include "tributary/model_io/model_file.h"

namespace tributary::cli {

void CommonOptions::declare(OptionTable& table) {
  table.choice("", "device", &device,
               {{"auto", DeviceChoice::kAuto}, {"cpu", DeviceChoice::kCpu}, {"cuda", DeviceChoice::kCuda}},
               "where to compute; auto takes a GPU where there is one");
  table.integer("", "threads", &threads, 0, 1024, "threads on the CPU; 0 takes what the machine has");
  table.flag("", "json", &json, "print the result as JSON").transient();
  table.text("", "config", &config, "TOML file with any of these options; flags win over it").transient();
}

void CommonOptions::read_config(OptionTable& table) const {
  if (const auto path = table.given("config")) table.read_toml(*path);
}

void CommonOptions::apply(OptionTable& table) const {
  read_config(table);
  table.apply_toml();
  table.apply_flags();
}

torch::Device CommonOptions::prepare() {
  keep_freed_memory();
  threads = set_threads(static_cast<int>(threads));
  const torch::Device chosen = resolve_device(device);
  device = chosen.is_cuda() ? DeviceChoice::kCuda : DeviceChoice::kCpu;
  return chosen;
}

torch::Device CommonOptions::prepare(const DistributedSession& session) {
  if (session.several() && threads == 0) threads = at::get_num_threads();
  return session.own_device(prepare());
}

void DataOptions::declare(OptionTable& table) {
  table.text("data", "root", &root, "folder that relative paths in a list file start from");
  table.number("data", "max_bad", &max_bad, 0, 1, "share of unreadable pictures that is set aside without giving up");
  table
      .number("data", "memory", &memory, 0, 1e6,
              "GiB of decoded pictures to keep in memory; a larger set is decoded anew whenever a picture is needed; 0 "
              "takes half of what is free")
      .transient();
  table
      .number("data", "gpu_memory", &gpu_memory, 0, 1e6,
              "GiB of decoded pictures to keep on a GPU; of a larger set every batch is sent there; 0 takes half of "
              "what is free")
      .transient();
  table
      .number("data", "feature_memory", &feature_memory, 0, 1e6,
              "GiB of features of the whole set to keep in memory, on the GPU where there is one; more are kept in "
              "bfloat16 or in a temporary file; 0 takes half of what is free")
      .transient();
}

LoadOptions DataOptions::for_preprocessing(const Preprocessing& preprocessing, int64_t threads) const {
  LoadOptions options;
  options.preprocessing = preprocessing;
  options.threads = static_cast<int>(threads);
  options.root = root;
  options.max_bad_share = max_bad;
  const auto bytes = [](double gibibytes) { return gibibytes > 0 ? static_cast<int64_t>(gibibytes * kGibibyte) : -1; };
  options.memory = bytes(memory);
  options.gpu_memory = bytes(gpu_memory);
  options.feature_memory = bytes(feature_memory);
  return options;
}

void report_skipped(const std::string& command, const std::vector<SkippedPicture>& skipped, int64_t total) {
  for (size_t i = 0; i < skipped.size(); ++i)
    std::cerr << fmt::format("tributary {}: {}: not a picture we can read ({}); set aside, {} of {}\n", command,
                             skipped[i].path, skipped[i].reason, thousands(static_cast<int64_t>(i) + 1),
                             thousands(total));
}

void report_memory_retry(const std::string& command, int64_t micro_batch) {
  std::cerr << fmt::format(
      "tributary {}: the GPU's memory does not suffice; goes on with {} pictures of a batch at once, which takes "
      "longer\n",
      command, micro_batch);
}

Ensemble load_models(const std::vector<std::string>& paths, const std::string& rule, const ImportOptions& options) {
  Ensemble ensemble =
      paths.size() == 1 ? load_ensemble(model_path(paths.front()), options) : load_sources(paths, options);
  if (rule.empty()) return ensemble;
  for (const auto& [name, combination] : combination_names()) {
    if (name != rule) continue;
    const bool weighted =
        combination == Combination::kWeightedLogits || combination == Combination::kWeightedProbabilities;
    if (weighted && !ensemble.mixture.weights.defined())
      input_error("--rule {}: these models have no weights; only an adapted mixture has", rule);
    ensemble.mixture.rule = combination;
    return ensemble;
  }
  input_error("--rule {}: choose one of mean_prob, mean_logit, vote, weighted_logits, weighted_probabilities", rule);
}

std::string domain_of(const std::string& path) {
  std::filesystem::path given = std::filesystem::absolute(path).lexically_normal();
  if (!given.has_filename()) given = given.parent_path();
  if (!std::filesystem::is_directory(path) && given.has_parent_path()) given = given.parent_path();
  return given.filename().string();
}

bool is_terminal() {
  return isatty(STDERR_FILENO) != 0;
}

}  // namespace tributary::cli
