#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/bench_tables.h"
#include "tributary/base/error.h"
#include "tributary/base/interrupt.h"
#include "tributary/base/json_text.h"
#include "tributary/base/print.h"
#include "tributary/base/process.h"
#include "tributary/base/text.h"
#include "tributary/experiments/speed.h"
#include "tributary/launch/rank_info.h"
#include "tributary/run/distributed_session.h"
#include "tributary/terminal/table.h"

namespace tributary::cli {
namespace {

// The child programs are not ranks, and see only the GPU of this process.
void leave_process_group(torch::Device device) {
  clear_rank_environment();
  if (!device.is_cuda()) return;
  const char* const seen = std::getenv("CUDA_VISIBLE_DEVICES");
  std::string own = std::to_string(device.index());
  if (seen != nullptr && *seen != '\0') {
    std::stringstream names(seen);
    for (int8_t i = 0; i <= device.index() && std::getline(names, own, ',');) ++i;
  }
  setenv("CUDA_VISIBLE_DEVICES", own.c_str(), /*overwrite=*/1);
}

class Bench : public Command {
 public:
  std::string name() const override { return "bench"; }
  std::string summary() const override {
    return "Compare methods on the paper's benchmarks or your own domains, or measure the speed of this machine";
  }
  std::string example() const override { return "tributary bench digits --methods shot,selective --seeds 3"; }

  void declare(CLI::App& app) override {
    app.add_option("what", what_,
                   "a table: digits (drawn here), digit-five, office-31, office-home, domainnet, pacs or a TOML file "
                   "with your own domains; or speed: pictures per second in decoding, evaluation and training, and "
                   "the bound of each")
        ->required()
        ->type_name("NAME");
    common_.declare(table_);
    tributary::declare(table_, options_);
    cli::declare(table_, tables_);
    session_.declare(table_, DistributedSession::Work::kJobs);
    table_.help_group("Input and output", {"data", "out", "source_store", "markdown", "config", "json"});
    table_.help_group("Table", {"methods", "targets", "seeds", "ablations", "sweep", "set", "skew"});
    table_.help_group("Training", {"architecture", "init", "source_epochs", "rounds", "inner_epochs", "epochs"});
    table_.help_group("Interrupted runs", {"save_every", "restart"});
    table_.help_group("Hardware", {"device", "threads", "precision", "recompute", "gpu_memory", "jobs", "processes"});
    table_.add_to(app);
  }

  const OptionTable& options() const override { return table_; }
  const DistributedSession* session() const override { return &session_; }

  void run() override {
    common_.apply(table_);
    refuse_unused();
    catch_interrupts();
    announce_parent();
    session_.begin();
    const torch::Device device = common_.prepare(session_);
    if (what_ != "speed") {
      session_.join(device);
      std::optional<int64_t> gpu_memory;
      if (device.is_cuda()) gpu_memory = free_memory(device);
      leave_process_group(device);
      run_bench_table(what_, tables_, common_,
                      {options_.architecture, table_.given("precision").value_or(""),
                       table_.given("pictures") ? options_.pictures : 0, gpu_memory},
                      session_.comm());
      return;
    }
    const nlohmann::json result = measure_speed(options_, device, static_cast<int>(common_.threads));
    if (common_.json) {
      print(json_text(result, 2) + "\n");
      return;
    }
    show(result);
  }

 private:
  // Tables and the measurement of speed have options of their own.
  void refuse_unused() const {
    OptionTable of_speed, of_tables;
    SpeedOptions speed;
    BenchTableOptions tables;
    tributary::declare(of_speed, speed);
    cli::declare(of_tables, tables);
    const auto has = [](const OptionTable& table, const std::string& key) {
      return std::any_of(table.options().begin(), table.options().end(),
                         [&](const Option& option) { return option.key == key; });
    };
    for (const GivenOption& given : table_.given_options()) {
      if (what_ == "speed" && has(of_tables, given.key))
        input_error("{} belongs to tables and has no effect on bench speed; leave it out", given.where);
      const bool shared = given.key == "architecture" || (given.key == "pictures" && what_ == "digits");
      if (what_ != "speed" && !shared && has(of_speed, given.key))
        input_error("{} has no effect on bench {}; --set passes options to the adaptations", given.where,
                    printable(what_));
    }
  }

  static void show(const nlohmann::json& result) {
    print(fmt::format("{} x {}, batch {}, {} on {}\n\n", result.at("sources").get<int64_t>(),
                      result.at("architecture").get<std::string>(), result.at("batch").get<int64_t>(),
                      result.at("precision").get<std::string>(), result.at("device").get<std::string>()));
    Table table({{"work"}, {"pictures/s", Align::kRight}, {"bound", Align::kRight}, {"share", Align::kRight}, {"by"}});
    for (const auto& [key, title, by] :
         {std::tuple("decode", "decoding JPEGs", "libjpeg-turbo alone"),
          std::tuple("evaluate", "evaluation, one source", "roofline"),
          std::tuple("train_eager", "training, all sources, eager", "roofline"),
          std::tuple("train_recorded", "training, all sources, CUDA graph", "roofline")}) {
      if (!result.contains(key)) continue;
      const nlohmann::json& row = result.at(key);
      const auto number = [&](const char* name) { return row.at(name).get<double>(); };
      const bool bounded = row.contains("bound");
      table.add_row({title, thousands(std::llround(number("pictures_per_second"))),
                     bounded ? thousands(std::llround(number("bound"))) : "",
                     bounded ? fmt::format("{:.2f}", number("share")) : "", bounded ? by : ""});
    }
    print(table.to_text());
    if (!result.contains("phases")) return;
    const nlohmann::json& phases = result.at("phases");
    const auto share = [&](const char* phase) { return percent(phases.at(phase).get<double>()); };
    print(fmt::format(
        "\na short adaptation: {} % training, {} % evaluation, {} % domain weights, {} % labels\nmemory: {:.1f} GiB",
        share("training"), share("evaluation"), share("weights"), share("labels"),
        result.at("memory").at("host_gib").get<double>()));
    if (result.at("memory").contains("gpu_gib"))
      print(fmt::format(", {:.1f} GiB on the GPU", result.at("memory").at("gpu_gib").get<double>()));
    print(fmt::format("\nthis device: {:.2f} TFLOP/s in a matrix product, {:.0f} GB/s in a copy\n",
                      result.at("peak").at("teraflops").get<double>(),
                      result.at("peak").at("gigabytes_per_second").get<double>()));
  }

  CommonOptions common_;
  SpeedOptions options_;
  BenchTableOptions tables_;
  DistributedSession session_;
  std::string what_;
  OptionTable table_;
};

}  // namespace

std::unique_ptr<Command> make_bench() {
  return std::make_unique<Bench>();
}

}  // namespace tributary::cli
