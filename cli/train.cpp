#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>

#include "cli/command.h"
#include "cli/distributed_session.h"
#include "tributary/base/error.h"
#include "tributary/base/files.h"
#include "tributary/base/interrupt.h"
#include "tributary/base/text.h"
#include "tributary/model_io/model_file.h"
#include "tributary/terminal/progress.h"
#include "tributary/train/memory_retry.h"
#include "tributary/train/source_training.h"

namespace tributary::cli {
namespace {

class Train : public Command {
 public:
  std::string name() const override { return "train"; }
  std::string summary() const override { return "Train one source model on a labelled domain"; }
  std::string example() const override {
    return "tributary train --data photos/webcam --init resnet50.pth --out webcam.safetensors";
  }

  void declare(CLI::App& app) override {
    common_.declare(table_);
    table_.integer("", "seed", &seed_, 0, INT64_MAX, "random seed").metavar("NUMBER");
    table_
        .text("train", "data", &data_path_,
              "labelled pictures: class folders, a list with labels, tar shards, NAME-images.idx or digits in a .mat "
              "file")
        .metavar("DATA");
    table_
        .text("train", "validation", &validation_path_,
              "labelled pictures of the same domain, to choose the best iterate")
        .metavar("DATA");
    table_.text("train", "out", &out_, "model file to write").metavar("FILE").transient();
    table_.text("train", "name", &name_, "name of the source in tables; by default taken from the path of --data")
        .transient();
    table_
        .text("train", "init", &init_,
              "initial weights of the backbone, as from ImageNet: a PyTorch file, safetensors or a model file")
        .metavar("FILE");
    tributary::declare(table_, options_);
    declare_network(table_, import_);
    data_.declare(table_);
    tributary::declare(table_, checkpoint_options_);
    session_.declare(table_);
    table_.help_group("Input and output", {"data", "validation", "root", "out", "name", "config", "json"});
    table_.help_group("Network", {"architecture", "init", "size"});
    table_.help_group("Training", {"epochs", "batch", "rate_backbone", "rate_head", "label_smoothing", "keep", "seed"});
    table_.help_group("Interrupted runs", {"save_every", "restart"});
    table_.help_group("Hardware", {"device", "threads", "precision", "processes"});
    table_.add_to(app);
  }

  const OptionTable& options() const override { return table_; }
  const DistributedSession* session() const override { return &session_; }

  void run() override {
    catch_interrupts();
    common_.apply(table_);
    if (data_path_.empty()) input_error("name the labelled pictures with --data");
    if (out_.empty()) input_error("name the model file to write with --out");
    require_writable_file(out_);
    session_.begin();
    const torch::Device device = common_.prepare(session_);
    session_.join(device);
    const auto seed = static_cast<uint64_t>(seed_);
    std::optional<WeightFile> weights;
    if (!init_.empty()) weights = read_weights(init_, import_);
    ModelInfo info = fresh_info(name_.empty() ? domain_of(data_path_) : name_,
                                weights                        ? weights->info.architecture
                                : import_.architecture.empty() ? "dtn"
                                                               : import_.architecture,
                                {});
    if (weights) {
      info.preprocessing = weights->info.preprocessing;
      info.normalisation = weights->info.normalisation;
      info.first_stride = weights->info.first_stride;
    } else {
      apply_preprocessing(import_, architecture(info.architecture), info);
    }
    const Split split = load(info.preprocessing, seed);
    session_.require_equal(split.training.images.size(), data_path_);
    info.classes = split.training.labels.classes;
    SourceModel model(info, Random(seed, Purpose::kInitialise), options_.classifier_init);
    if (weights) import_backbone(*weights, init_, model);
    weights.reset();
    model.to(device);
    session_.shard(model);
    if (!session_.first()) {
      Checkpointer& checkpointer = session_.checkpointer(nullptr, checkpoint_options_);
      train_source(model, split.training, split.validation, options_, seed, checkpointer);
      return;
    }
    const NamedTensors first = copy_of(model.state());
    make_folder(std::filesystem::absolute(out_).parent_path().string());
    FileCheckpoints kept(out_, config_text(table_, common_.threads, session_), checkpoint_options_);
    Checkpointer& checkpointer = session_.checkpointer(&kept.checkpointer(), checkpoint_options_);
    Progress progress(std::cerr, is_terminal(), !is_terminal());
    double accuracy = 0;
    const auto attempt = [&](int64_t micro_batch) {
      model.restore(first);
      set_micro_batch(model, micro_batch);
      if (micro_batch > 0) kept.checkpointer().rescan();
      accuracy = train_source(
          model, split.training, split.validation, options_, seed, checkpointer, [&](const SourceTrainingProgress& at) {
            progress.update(static_cast<double>(at.step) / static_cast<double>(at.steps), "train " + info.name,
                            at.accuracy < 0 ? "" : "validation " + percent(at.accuracy) + " %");
          });
    };
    if (session_.comm())
      attempt(/*piece=*/0);
    else
      retry_with_micro_batches(options_.batch, device, attempt,
                               [&](int64_t micro_batch) { report_memory_retry(name(), micro_batch); });
    progress.finish();
    save_source(out_, model);
    kept.finish();
    if (common_.json)
      std::cout << nlohmann::json{{"model", out_},
                                  {"name", info.name},
                                  {"classes", info.classes.size()},
                                  {"pictures", split.training.images.size()},
                                  {"validation_pictures", split.validation.images.size()},
                                  {"validation_accuracy", 100 * accuracy}}
                       .dump(2)
                << '\n';
    else
      std::cout << fmt::format("{}: {} trained on {} pictures of {} classes, {} % on {} validation pictures\n", out_,
                               info.architecture, thousands(split.training.images.size()), info.classes.size(),
                               percent(accuracy), thousands(split.validation.images.size()));
  }

 private:
  Split load(const Preprocessing& preprocessing, uint64_t seed) {
    std::vector<SkippedPicture> bad;
    const LoadOptions load_options = data_.for_preprocessing(preprocessing, common_.threads);
    LabelledImages all = load_labelled(data_path_, load_options, {}, &bad);
    if (session_.first()) report_skipped(name(), bad, all.images.size() + static_cast<int64_t>(bad.size()));
    if (all.labels.classes.size() < 2)
      input_error("{} has only the class '{}'; a classifier needs at least 2", data_path_, all.labels.classes.front());
    if (validation_path_.empty()) return split_for_validation(all, options_.train_share, options_.full, seed);
    bad.clear();
    LabelledImages validation = load_labelled(validation_path_, load_options, all.labels.classes, &bad);
    if (session_.first()) report_skipped(name(), bad, validation.images.size() + static_cast<int64_t>(bad.size()));
    return {std::move(all), std::move(validation)};
  }

  CommonOptions common_;
  DataOptions data_;
  ImportOptions import_;
  SourceTrainingOptions options_;
  CheckpointOptions checkpoint_options_;
  DistributedSession session_;
  int64_t seed_ = 0;
  std::string data_path_, validation_path_, out_, name_, init_;
  OptionTable table_;
};

}  // namespace

std::unique_ptr<Command> make_train() {
  return std::make_unique<Train>();
}

}  // namespace tributary::cli
