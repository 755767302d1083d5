#include <fmt/ranges.h>

#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/terminal_listener.h"
#include "tributary/artefacts/run_folder.h"
#include "tributary/base/error.h"
#include "tributary/base/files.h"
#include "tributary/base/interrupt.h"
#include "tributary/base/json_text.h"
#include "tributary/base/print.h"
#include "tributary/base/text.h"
#include "tributary/model/backbone.h"
#include "tributary/run/distillation_run.h"
#include "tributary/terminal/table.h"
#include "tributary/train/memory_retry.h"

namespace tributary::cli {
namespace {

using nlohmann::json;

json to_json(const ModelMeasurement& measured) {
  json row = {{"networks", measured.networks},
              {"parameters", measured.parameters},
              {"pictures_per_second", measured.pictures_per_second},
              {"bytes", measured.bytes}};
  if (measured.accuracy) row["accuracy"] = 100 * *measured.accuracy;
  return row;
}

json to_json(const DistillationRunResult& result) {
  return {{"model", result.model},
          {"architecture", result.architecture},
          {"pictures", result.pictures},
          {"agreement", 100 * result.agreement},
          {"mixture", to_json(result.mixture)},
          {"student", to_json(result.student)}};
}

class Distill : public Command {
 public:
  std::string name() const override { return "distill"; }
  std::string summary() const override { return "Distil an adapted mixture into one network"; }
  std::string example() const override { return "tributary distill runs/photos --architecture resnet18"; }

  void declare(CLI::App& app) override {
    app.add_option("model", options_.model, "run folder or mixture file")->required()->type_name("FILE");
    common_.declare(table_);
    table_.integer("", "seed", &seed_, 0, INT64_MAX, "random seed").metavar("NUMBER");
    table_.text("", "target", &options_.target, "unlabelled pictures; by default those of the run").metavar("DATA");
    table_.text("", "out", &options_.out, "model file to write; by default student.safetensors in the run folder")
        .metavar("FILE")
        .transient();
    table_.text("", "test", &options_.test, "labelled pictures, only to show the accuracy of mixture and student")
        .metavar("DATA")
        .transient();
    table_.text("", "name", &options_.name, "name of the student in tables").transient();
    table_.text(
        "distill", "architecture", &options_.architecture,
        "network of the student, as resnet18 (docs/bring-your-own-model.md); by default that of the source with the "
        "largest weight");
    table_
        .text("distill", "init", &options_.init,
              "initial weights: a file, 'teacher' for those of the source with the largest weight, or 'fresh'; by "
              "default "
              "teacher for photographs if the networks are equal, else fresh")
        .metavar("FILE");
    tributary::declare(table_, options_.training);
    declare_recompute(table_, "distill", options_.recompute);
    data_.declare(table_);
    tributary::declare(table_, options_.checkpoints);
    session_.declare(table_);
    table_.flag("model", "trust", &options_.import.trust, "load TorchScript files, which can run code")
        .transient()
        .flag_only();
    table_.help_group("Input and output", {"target", "test", "root", "out", "name", "trust", "config", "json"});
    table_.help_group("Student", {"architecture", "init", "labels", "temperature"});
    table_.help_group("Training", {"epochs", "batch", "rate", "backbone_factor", "seed"});
    table_.help_group("Interrupted runs", {"save_every", "restart"});
    table_.help_group("Hardware", {"device", "threads", "recompute", "gpu_memory", "processes"});
    table_.add_to(app);
  }

  const OptionTable& options() const override { return table_; }
  const DistributedSession* session() const override { return &session_; }

  void run() override {
    catch_interrupts();
    common_.apply(table_);
    if (!std::filesystem::exists(options_.model))
      input_error("{} does not exist; name a run folder or a mixture file", options_.model);
    if (options_.training.labels == TeacherLabels::kHard &&
        options_.training.temperature != DistillationOptions().temperature)
      input_error("--temperature has no effect with --labels hard; add --labels soft, or leave it out");
    const bool is_run = std::filesystem::is_directory(options_.model);
    model_path(options_.model);  // throws if there is no model
    if (options_.out.empty() && !is_run) input_error("name the model file to write with --out");
    if (options_.out.empty()) {
      refuse_links_in_run(options_.model);
      options_.out = options_.model + "/student.safetensors";
    }
    if (options_.target.empty() && is_run) {
      options_.target = target_of_run(options_.model);
      data_.follow_run(table_, options_.model);
    }
    if (options_.target.empty()) input_error("name the unlabelled pictures with --target");
    require_writable_file(options_.out);
    session_.begin();
    options_.device = common_.prepare(session_);
    session_.join(options_.device);
    options_.seed = static_cast<uint64_t>(seed_);
    options_.load = data_.load_options(common_.threads);
    TerminalListener listener(name(), common_.json);
    DistillationRun distillation(options_, run_configuration(table_, common_.threads, session_), session_, listener);
    const std::optional<DistillationRunResult> result = distillation.run();
    if (!result) return;
    if (common_.json)
      print(json_text(to_json(*result), 2) + "\n");
    else
      show(*result);
  }

 private:
  static void show(const DistillationRunResult& result) {
    const bool tested = result.mixture.accuracy.has_value();
    std::vector<Column> columns = {{"model"},
                                   {"networks", Align::kRight},
                                   {"parameters", Align::kRight},
                                   {"MB", Align::kRight},
                                   {"pictures/s", Align::kRight}};
    if (tested) columns.push_back({"accuracy %", Align::kRight});
    Table table(columns);
    for (const auto& [title, row] : {std::pair("mixture", &result.mixture), std::pair("student", &result.student)}) {
      std::vector<std::string> cells = {title, std::to_string(row->networks), thousands(row->parameters),
                                        fmt::format("{:.1f}", static_cast<double>(row->bytes) / 1e6),
                                        thousands(std::llround(row->pictures_per_second))};
      if (tested) cells.push_back(percent(*row->accuracy));
      table.add_row(cells);
    }
    print(table.to_text());
    print(fmt::format("\nthe student agrees with the mixture on {} % of {} pictures\nmodel  {}\n",
                      percent(result.agreement), thousands(result.pictures), safe_line(result.model)));
  }

  CommonOptions common_;
  DataOptions data_;
  DistillationRunOptions options_;
  DistributedSession session_;
  int64_t seed_ = 0;
  OptionTable table_;
};

}  // namespace

std::unique_ptr<Command> make_distill() {
  return std::make_unique<Distill>();
}

}  // namespace tributary::cli
