#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>

#include "cli/command.h"
#include "cli/distributed_session.h"
#include "tributary/artefacts/run_folder.h"
#include "tributary/base/error.h"
#include "tributary/base/files.h"
#include "tributary/base/interrupt.h"
#include "tributary/base/stopwatch.h"
#include "tributary/base/text.h"
#include "tributary/eval/metrics.h"
#include "tributary/model/layered_source.h"
#include "tributary/model_io/model_file.h"
#include "tributary/terminal/progress.h"
#include "tributary/terminal/table.h"
#include "tributary/train/distillation.h"
#include "tributary/train/evaluate.h"
#include "tributary/train/memory_retry.h"

namespace tributary::cli {
namespace {

using nlohmann::json;

constexpr const char* kFresh = "fresh";
constexpr const char* kTeacher = "teacher";

// The source that the mixture trusts most, of those made of our own layers.
const SourceModel* strongest(const Ensemble& ensemble) {
  const SourceModel* best = nullptr;
  double most = -1;
  for (int64_t j = 0; j < ensemble.size(); ++j) {
    const double weight = ensemble.mixture.weights.defined() ? ensemble.mixture.weights[j].item<double>() : 1;
    if (ensemble.sources[j].layered() == nullptr || weight <= most) continue;
    best = &ensemble.sources[j];
    most = weight;
  }
  return best;
}

// How fast the models answer, what they answer, and how large they are.
json measured(Ensemble& ensemble, const DeviceImages& images, const DeviceImages* test, const Tensor& label,
              Tensor& predicted) {
  const Stopwatch watch;
  predicted = combine(evaluate_logits(ensemble, images), ensemble.mixture).argmax(-1);
  synchronise(images.device());
  const double seconds = watch.seconds();
  int64_t parameters = 0;
  for (const SourceModel& source : ensemble.sources) parameters += source.parameter_count();
  json row = {{"networks", ensemble.size()},
              {"parameters", parameters},
              {"pictures_per_second", static_cast<double>(images.size()) / seconds}};
  if (test != nullptr)
    row["accuracy"] = 100 * accuracy_of(combine(evaluate_logits(ensemble, *test), ensemble.mixture), label);
  return row;
}

class Distill : public Command {
 public:
  std::string name() const override { return "distill"; }
  std::string summary() const override { return "Train one network to do what an adapted mixture does"; }
  std::string example() const override { return "tributary distill runs/photos --architecture resnet18"; }

  void declare(CLI::App& app) override {
    app.add_option("model", path_, "run folder or mixture file")->required();
    common_.declare(table_);
    table_.integer("", "seed", &seed_, 0, INT64_MAX, "random seed").metavar("NUMBER");
    table_.text("", "target", &target_, "unlabelled pictures; by default those of the run").metavar("DATA");
    table_.text("", "out", &out_, "model file to write; by default student.safetensors in the run folder")
        .metavar("FILE")
        .transient();
    table_.text("", "test", &test_, "labelled pictures, only to show the accuracy of mixture and student")
        .metavar("DATA")
        .transient();
    table_.text("", "name", &name_, "name of the student in tables").transient();
    table_.text("distill", "architecture", &architecture_,
                "network of the student; by default that of the source with the largest weight");
    table_
        .text("distill", "init", &init_,
              "initial weights: a file, 'teacher' for those of the source with the largest weight, or 'fresh'; by "
              "default "
              "teacher for photographs if the networks are equal, else fresh")
        .metavar("FILE");
    tributary::declare(table_, options_);
    data_.declare(table_);
    tributary::declare(table_, checkpoint_options_);
    session_.declare(table_);
    table_.flag("model", "trust", &import_.trust, "load TorchScript files, which can run code").transient();
    table_.help_group("Input and output", {"target", "test", "root", "out", "name", "config", "json"});
    table_.help_group("Student", {"architecture", "init", "labels", "temperature"});
    table_.help_group("Training", {"epochs", "batch", "rate", "backbone_factor", "seed"});
    table_.help_group("Interrupted runs", {"save_every", "restart"});
    table_.help_group("Hardware", {"device", "threads", "processes"});
    table_.add_to(app);
  }

  const OptionTable& options() const override { return table_; }
  const DistributedSession* session() const override { return &session_; }

  void run() override {
    catch_interrupts();
    common_.apply(table_);
    const bool is_run = std::filesystem::is_directory(path_);
    const std::string model_file = model_path(path_);
    if (out_.empty() && !is_run) input_error("name the model file to write with --out");
    if (out_.empty()) out_ = path_ + "/student.safetensors";
    if (target_.empty() && is_run) target_ = target_of_run(path_);
    if (target_.empty()) input_error("name the unlabelled pictures with --target");
    require_writable_file(out_);
    session_.begin();
    const torch::Device device = common_.prepare(session_);
    session_.join(device);
    const auto seed = static_cast<uint64_t>(seed_);
    Ensemble teachers = load_ensemble(model_file, import_);
    SourceModel student = first_student(teachers, seed);
    const LoadOptions load_options = data_.for_preprocessing(teachers.preprocessing(), common_.threads);
    std::vector<SkippedPicture> bad;
    const ImageSet target = load_images(target_, load_options, &bad);
    if (session_.first()) report_skipped(name(), bad, target.size() + static_cast<int64_t>(bad.size()));
    session_.require_equal(target.size(), target_);
    std::optional<LabelledImages> test;
    if (!test_.empty()) test = load_labelled(test_, load_options, teachers.classes());

    teachers.to(device);
    student.to(device);
    session_.shard(teachers, Division::kRows);
    session_.shard(student);
    if (!session_.first()) {
      Checkpointer& checkpointer = session_.checkpointer(nullptr, checkpoint_options_);
      distill(student, teachers, target, options_, seed, checkpointer, {});
      compared(teachers, std::move(student), target, test, model_file, device);
      return;
    }
    make_folder(std::filesystem::absolute(out_).parent_path().string());
    Configuration config = config_text(table_, common_.threads, session_);
    config.text = fmt::format("model = {}\n{}", toml_text(path_), config.text);
    FileCheckpoints kept(out_, config, checkpoint_options_);
    Checkpointer& checkpointer = session_.checkpointer(&kept.checkpointer(), checkpoint_options_);
    Progress progress(std::cerr, is_terminal(), !is_terminal());
    const NamedTensors first = copy_of(student.state());
    const auto attempt = [&](int64_t micro_batch) {
      student.restore(first);
      set_micro_batch(student, micro_batch);
      for (SourceModel& teacher : teachers.sources) set_micro_batch(teacher, micro_batch);
      if (micro_batch > 0) kept.checkpointer().rescan();
      distill(student, teachers, target, options_, seed, checkpointer, [&](const DistillationProgress& at) {
        progress.update(static_cast<double>(at.step) / static_cast<double>(at.steps), "distill",
                        std::isnan(at.loss) ? "" : fmt::format("loss {:.3f}", at.loss));
      });
    };
    constexpr int64_t kBatch = 64;  // where none is given
    if (session_.comm())
      attempt(/*piece=*/0);
    else
      retry_with_micro_batches(options_.batch > 0 ? options_.batch : kBatch, device, attempt,
                               [&](int64_t micro_batch) { report_memory_retry(name(), micro_batch); });
    progress.finish();
    save_source(out_, student);
    kept.finish();
    show(compared(teachers, std::move(student), target, test, model_file, device));
  }

 private:
  SourceModel first_student(const Ensemble& teachers, uint64_t seed) {
    const SourceModel* teacher = strongest(teachers);
    if (architecture_.empty() && teacher == nullptr)
      input_error("{} has only TorchScript sources; name the student's network with --architecture", path_);
    std::optional<WeightFile> weights;
    if (!init_.empty() && init_ != kFresh && init_ != kTeacher) {
      ImportOptions options;
      options.architecture = architecture_;
      options.size = teachers.preprocessing().size;
      weights = read_weights(init_, options);
    }
    const std::string network = weights                 ? weights->info.architecture
                                : architecture_.empty() ? teacher->info().architecture
                                                        : architecture_;
    const bool same = teacher != nullptr && teacher->info().architecture == network;
    if (init_ == kTeacher && !same)
      input_error("--init teacher: no source of {} is {}; choose that network or other first weights", path_, network);
    if (init_ == kTeacher || (init_.empty() && same && architecture(network).photographs)) {
      ModelInfo info = teacher->info();
      info.name = student_name();
      SourceModel student(info, Init());
      student.restore(copy_of(teacher->state()));
      return student;
    }
    ModelInfo info = fresh_info(student_name(), network, teachers.classes());
    require_preprocessing(architecture(network), teachers.preprocessing());
    info.preprocessing = teachers.preprocessing();
    if (weights) {
      info.normalisation = weights->info.normalisation;
      info.first_stride = weights->info.first_stride;
    } else if (architecture(network).photographs) {
      std::cerr << fmt::format(
          "tributary distill: {} begins with random weights, which a few thousand pictures cannot train well; give "
          "ImageNet's with --init\n",
          network);
    }
    SourceModel student(info, Random(seed, Purpose::kInitialise));
    if (weights) import_backbone(*weights, init_, student);
    return student;
  }

  std::string student_name() const { return name_.empty() ? "student" : name_; }

  json compared(Ensemble& teachers, SourceModel student, const ImageSet& target,
                const std::optional<LabelledImages>& test, const std::string& model_file, torch::Device device) const {
    const DeviceImages images(target, device);
    std::optional<DeviceImages> test_images;
    Tensor label;
    if (test) {
      test_images.emplace(test->images, device);
      label = torch::tensor(test->labels.values, torch::kInt64).to(device);
    }
    const DeviceImages* test_set = test_images ? &*test_images : nullptr;
    Ensemble alone;
    alone.sources.push_back(std::move(student));
    Tensor by_mixture, by_student;
    json mixture = measured(teachers, images, test_set, label, by_mixture);
    json one = measured(alone, images, test_set, label, by_student);
    if (!session_.first()) return {};
    mixture["bytes"] = std::filesystem::file_size(model_file);
    one["bytes"] = std::filesystem::file_size(out_);
    const double agreement = (by_mixture == by_student).to(torch::kFloat64).mean().item<double>();
    return {{"model", out_},
            {"architecture", alone.sources.front().info().architecture},
            {"pictures", target.size()},
            {"agreement", 100 * agreement},
            {"mixture", mixture},
            {"student", one}};
  }

  void show(const json& result) const {
    if (common_.json) {
      std::cout << result.dump(2) << '\n';
      return;
    }
    const bool tested = result.at("mixture").contains("accuracy");
    std::vector<Column> columns = {{"model"},
                                   {"networks", Align::kRight},
                                   {"parameters", Align::kRight},
                                   {"MB", Align::kRight},
                                   {"pictures/s", Align::kRight}};
    if (tested) columns.push_back({"accuracy %", Align::kRight});
    Table table(columns);
    for (const char* key : {"mixture", "student"}) {
      const json& row = result.at(key);
      std::vector<std::string> cells = {key, std::to_string(row.at("networks").get<int64_t>()),
                                        thousands(row.at("parameters").get<int64_t>()),
                                        fmt::format("{:.1f}", row.at("bytes").get<double>() / 1e6),
                                        thousands(std::llround(row.at("pictures_per_second").get<double>()))};
      if (tested) cells.push_back(percent(row.at("accuracy").get<double>() / 100));
      table.add_row(cells);
    }
    std::cout << table.to_text()
              << fmt::format("\nthe student agrees with the mixture on {} % of {} pictures\nmodel  {}\n",
                             percent(result.at("agreement").get<double>() / 100),
                             thousands(result.at("pictures").get<int64_t>()), out_);
  }

  CommonOptions common_;
  DataOptions data_;
  ImportOptions import_;
  DistillationOptions options_;
  CheckpointOptions checkpoint_options_;
  DistributedSession session_;
  int64_t seed_ = 0;
  std::string path_, target_, out_, test_, name_, architecture_, init_;
  OptionTable table_;
};

}  // namespace

std::unique_ptr<Command> make_distill() {
  return std::make_unique<Distill>();
}

}  // namespace tributary::cli
