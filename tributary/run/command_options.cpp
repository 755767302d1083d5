#include "tributary/run/command_options.h"

#include <ATen/Parallel.h>

#include <optional>

#include "tributary/base/files.h"
#include "tributary/base/memory.h"
#include "tributary/base/toml.h"
#include "tributary/run/distributed_session.h"

namespace tributary {
namespace {

constexpr double kLeastMegapixels = 0.001, kMostMegapixels = 10000;

}  // namespace

void CommonOptions::declare(OptionTable& table) {
  table.choice("", "device", &device,
               {{"auto", DeviceChoice::kAuto}, {"cpu", DeviceChoice::kCpu}, {"cuda", DeviceChoice::kCuda}},
               "device to compute on; auto takes a GPU if there is one");
  table.integer("", "threads", &threads, 0, 1024, "CPU threads; 0 takes all cores");
  table
      .number("", "gpu_memory", &gpu_memory, 0, 1e6,
              "GiB of GPU memory that this process may take, its CUDA context included; 0 takes what is free")
      .metavar("GIB")
      .transient();
  table.flag("", "json", &json, "print the result as JSON").transient();
  table.text("", "config", &config, "TOML file with any of these options; flags override it")
      .metavar("FILE")
      .transient();
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
  limit_gpu_memory(chosen, static_cast<int64_t>(gpu_memory * kGibibyte));
  device = chosen.is_cuda() ? DeviceChoice::kCuda : DeviceChoice::kCpu;
  return chosen;
}

torch::Device CommonOptions::prepare(const DistributedSession& session) {
  if (session.several() && threads == 0) threads = at::get_num_threads();
  return session.own_device(prepare());
}

void DataOptions::declare(OptionTable& table) {
  table.text("data", "root", &root, "base folder of relative paths in a list file").metavar("FOLDER");
  table
      .number("data", "max_skipped", &max_skipped, 0, 1,
              "largest share of unreadable pictures to skip; with more, the command fails")
      .alias("max_bad");
  table
      .number("data", "max_megapixels", &max_megapixels, kLeastMegapixels, kMostMegapixels,
              "pictures with more pixels than this are skipped")
      .metavar("NUMBER");
  table
      .number(
          "data", "memory", &memory, 0, 1e6,
          "GiB of decoded pictures to keep in memory; pictures of a larger set are decoded at every use; 0 takes half "
          "of the free memory")
      .metavar("GIB")
      .transient();
  table
      .number(
          "data", "feature_memory", &feature_memory, 0, 1e6,
          "GiB of target features to keep in memory, on the GPU if there is one; larger ones are stored as bfloat16 or "
          "in a temporary file; 0 takes half of the free memory")
      .metavar("GIB")
      .transient();
}

LoadOptions DataOptions::for_preprocessing(const Preprocessing& preprocessing, int64_t threads) const {
  LoadOptions options = load_options(threads);
  options.preprocessing = preprocessing;
  return options;
}

void DataOptions::follow_run(const OptionTable& table, const std::string& folder) {
  const std::string file = folder + "/config.toml";
  const toml::table config = parse_toml(read_text(file), file);
  const auto recorded = config["data"];
  const auto within = [](const std::optional<double>& value, double min, double max) {
    return value && *value >= min && *value <= max;
  };
  auto share = recorded["max_skipped"].value<double>();
  if (!share) share = recorded["max_bad"].value<double>();  // its name in 0.1
  if (!table.given("max_skipped") && within(share, 0, 1)) max_skipped = *share;
  const auto limit = recorded["max_megapixels"].value<double>();
  if (!table.given("max_megapixels") && within(limit, kLeastMegapixels, kMostMegapixels)) max_megapixels = *limit;
  if (!table.given("root")) root = recorded["root"].value_or(root);
}

LoadOptions DataOptions::load_options(int64_t threads) const {
  LoadOptions options;
  options.threads = static_cast<int>(threads);
  options.root = root;
  options.max_bad_share = max_skipped;
  options.max_pixels = static_cast<int64_t>(max_megapixels * 1e6);
  const auto bytes = [](double gibibytes) { return gibibytes > 0 ? static_cast<int64_t>(gibibytes * kGibibyte) : -1; };
  options.memory = bytes(memory);
  options.feature_memory = bytes(feature_memory);
  return options;
}

}  // namespace tributary
