#include <algorithm>
#include <filesystem>
#include <unordered_set>

#include "cli/command.h"
#include "tributary/artefacts/run_folder.h"
#include "tributary/base/csv.h"
#include "tributary/base/error.h"
#include "tributary/base/files.h"
#include "tributary/base/print.h"
#include "tributary/base/text.h"
#include "tributary/report/labelling_page.h"
#include "tributary/report/report_page.h"
#include "tributary/run/label_requests.h"
#include "tributary/run/models.h"
#include "tributary/run/predictions.h"
#include "tributary/train/evaluate.h"

namespace tributary::cli {
namespace {

constexpr int64_t kMostSuggested = 5000;  // clustering takes time in proportion to their number

class Suggest : public Command {
 public:
  std::string name() const override { return "suggest"; }
  std::string summary() const override { return "List the pictures whose labels would help most, or a random sample"; }
  std::string example() const override { return "tributary suggest runs/photos --count 20"; }

  void declare(CLI::App& app) override {
    app.add_option("run", run_, "folder of a finished run")->required()->type_name("FOLDER");
    common_.declare(table_);
    table_.integer("", "count", &count_, 1, 100000, "pictures to label");
    table_.flag("", "random", &random_,
                "draw a random sample, whose labels measure the accuracy (tributary evaluate --audit) and never train");
    table_.integer("", "seed", &seed_, 0, INT32_MAX, "random seed").metavar("NUMBER");
    table_
        .text("", "labels", &labels_,
              "labels that are there already, in a file of this command: their pictures are not suggested again")
        .metavar("FILE");
    table_
        .text("", "out", &out_,
              "file to fill in, and beside it the page for labelling in a browser; by default RUN/labels.csv, or "
              "RUN/audit.csv with --random")
        .metavar("FILE")
        .transient();
    data_.declare(table_);
    table_.flag("model", "trust", &import_.trust, "load TorchScript files, which can run code").transient().flag_only();
    table_.help_group("Input and output", {"count", "random", "labels", "out", "seed", "trust", "config"});
    table_.help_group("Hardware", {"device", "threads"});
    table_.add_to(app);
  }

  const OptionTable& options() const override { return table_; }

  void run() override {
    common_.apply(table_);
    if (random_ && !labels_.empty())
      input_error("--labels has no effect with --random: the sample is drawn of all pictures");
    if (!std::filesystem::is_directory(run_))
      input_error("{} is not a run folder; name the folder of a finished run", run_);
    if (out_.empty()) {
      refuse_links_in_run(run_);
      out_ = run_ + (random_ ? "/audit.csv" : "/labels.csv");
    }
    const std::string page = std::filesystem::path(out_).replace_extension(".html").string();
    if (page == out_) input_error("--out {}: name a CSV file; the page for labelling is written beside it", out_);
    refuse_to_overwrite();
    require_writable_file(out_);
    require_writable_file(page);
    const torch::Device device = common_.prepare();
    Ensemble ensemble = load_models({run_}, "", import_);
    const std::string target = target_of_run(run_);
    std::vector<SkippedPicture> skipped;
    DataOptions of_run = data_;
    of_run.follow_run(table_, run_);
    const ImageSet images =
        load_images(target, of_run.for_preprocessing(ensemble.preprocessing(), common_.threads), &skipped);
    report_skipped(name(), skipped, images.size() + static_cast<int64_t>(skipped.size()));
    require_pictures_of_run(images, predicted_pictures(run_ + "/predictions.csv"), target, "restore them");
    ensemble.to(device);

    LabellingTask task;
    task.name = domain_of(target);
    task.file = std::filesystem::path(out_).filename().string();
    task.classes = ensemble.classes();
    const auto seed = static_cast<uint64_t>(seed_);
    if (random_) {
      task.pictures = audit_sample(images.size(), count_, seed);
    } else {
      task.pictures = suggested(ensemble, DeviceImages(images, device), images, seed);
      task.guesses = guesses(ensemble, images, task.pictures);
    }
    for (const int64_t picture : task.pictures)
      task.rows.push_back(
          {csv_text(images.names[static_cast<size_t>(picture)]), "", random_ ? std::optional(seed) : std::nullopt, 0});
    make_folder(std::filesystem::absolute(out_).parent_path().string());
    write_file_atomically(page, report_page(labelling_page(task, images)));
    write_file_atomically(out_, label_file_text(task.rows));
    print(fmt::format("{}: {} pictures; fill in the column label, or open {} in a browser\n", safe_line(out_),
                      thousands(static_cast<int64_t>(task.rows.size())), safe_line(page)));
  }

 private:
  // Labels are work of a person.
  void refuse_to_overwrite() const {
    if (!std::filesystem::exists(out_)) return;
    const std::vector<LabelRow> rows = read_label_file(out_);
    const auto labelled =
        std::count_if(rows.begin(), rows.end(), [](const LabelRow& row) { return !row.label.empty(); });
    if (labelled > 0)
      input_error("{} has {} label{}; name another file with --out", out_, thousands(labelled),
                  labelled == 1 ? "" : "s");
  }

  std::vector<int64_t> suggested(Ensemble& ensemble, const DeviceImages& pictures, const ImageSet& images,
                                 uint64_t seed) const {
    std::vector<int64_t> known;
    if (!labels_.empty())
      known = match_rows(read_label_file(labels_), labels_, images.names, ensemble.classes()).picture;
    add_trained_and_audited(images, known);
    if (count_ > kMostSuggested)
      input_error("--count {}: at most {} can be suggested; --random draws more", thousands(count_),
                  thousands(kMostSuggested));
    const int64_t left = images.size() - static_cast<int64_t>(known.size());
    if (count_ > left)
      input_error("--count {}: only {} pictures have no label yet", thousands(count_), thousands(left));
    return pictures_to_label(ensemble, pictures, count_, known, seed);
  }

  // Adds the pictures that the run has trained on with labels, and those of its audit sample, which must not train.
  void add_trained_and_audited(const ImageSet& images, std::vector<int64_t>& known) const {
    std::vector<std::string> taken;
    for (const char* file : {"/given_labels.csv", "/audit.csv"}) {
      if (!std::filesystem::exists(run_ + file)) continue;
      for (const LabelRow& row : read_label_file(run_ + file)) taken.push_back(row.picture);
    }
    const std::unordered_set<std::string> names(taken.begin(), taken.end());
    std::unordered_set<int64_t> all(known.begin(), known.end());
    for (int64_t i = 0; i < images.size(); ++i)
      if (names.contains(csv_text(images.names[static_cast<size_t>(i)])) && all.insert(i).second) known.push_back(i);
  }

  // The mixture's classes of these pictures.
  static std::vector<std::string> guesses(Ensemble& ensemble, const ImageSet& images, const std::vector<int64_t>& of) {
    const ImageSet chosen = subset(images, of);
    const Tensor logits = evaluate_logits(ensemble, DeviceImages(chosen, ensemble.sources.front().device()));
    const Tensor label = combine(logits, ensemble.mixture).argmax(-1).cpu();
    std::vector<std::string> names;
    for (int64_t i = 0; i < label.size(0); ++i) names.push_back(ensemble.classes()[label[i].item<int64_t>()]);
    return names;
  }

  CommonOptions common_;
  DataOptions data_;
  ImportOptions import_;
  std::string run_, labels_, out_;
  int64_t count_ = 20, seed_ = 0;
  bool random_ = false;
  OptionTable table_;
};

}  // namespace

std::unique_ptr<Command> make_suggest() {
  return std::make_unique<Suggest>();
}

}  // namespace tributary::cli
