#include <algorithm>
#include <filesystem>
#include <optional>

#include "cli/command.h"
#include "tributary/artefacts/run_folder.h"
#include "tributary/base/csv.h"
#include "tributary/base/error.h"
#include "tributary/base/files.h"
#include "tributary/base/json_text.h"
#include "tributary/base/print.h"
#include "tributary/base/text.h"
#include "tributary/data/match_labels.h"
#include "tributary/model_io/model_file.h"
#include "tributary/report/figure.h"
#include "tributary/report/report_page.h"
#include "tributary/run/predictions.h"

namespace tributary::cli {
namespace {

class Report : public Command {
 public:
  std::string name() const override { return "report"; }
  std::string summary() const override { return "Write a report of a run: one page that works offline"; }
  std::string example() const override { return "tributary report runs/photos --labels labelled-photos/"; }

  void declare(CLI::App& app) override {
    app.add_option("run", run_, "run folder, finished or not")->required()->type_name("FOLDER");
    common_.declare(table_);
    table_
        .text("", "labels", &labels_,
              "labels of the target pictures, to show which predictions are right; found by name, or else by content")
        .metavar("DATA");
    table_.text("", "out", &out_, "file to write; report.html or the figure's name in the run's folder if not given")
        .metavar("FILE");
    table_.text("", "figure", &figure_,
                "write a figure of the paper instead, as OUT.svg and OUT.png: tsne, the confident and unconfident "
                "features with true and pseudo-labels");
    table_.flag("", "pictures", &pictures_, "include thumbnails of target pictures; reads the target set again");
    tributary::declare(table_, options_);
    data_.declare(table_);
    table_.help_group("Input and output", {"labels", "root", "out", "figure", "config", "json"});
    table_.help_group("Contents", {"pictures", "gallery", "points", "embedded_rounds", "all_points"});
    table_.help_group("Hardware", {"device", "threads"});
    table_.add_to(app);
  }

  const OptionTable& options() const override { return table_; }

  void run() override {
    common_.apply(table_);
    common_.prepare();
    options_.threads = static_cast<int>(common_.threads);
    const std::string target = target_of_run(run_);
    if (out_.empty()) refuse_links_in_run(run_);
    ReportSubject subject{run_};
    std::optional<ImageSet> images;
    const bool shows_pictures = pictures_ && figure_.empty() && model_is_there();
    if (!labels_.empty() || shows_pictures) {
      const ModelInfo model = describe_sources(model_path(run_)).front();
      DataOptions of_run = data_;
      of_run.follow_run(table_, run_);
      const LoadOptions load = of_run.for_preprocessing(model.preprocessing, common_.threads);
      const std::vector<std::string> names = predicted_pictures(run_ + "/predictions.csv");
      if (shows_pictures) images = target_pictures(target, names, load);
      if (!labels_.empty()) {
        LoadOptions of_labels = load;
        of_labels.root = data_.root;
        const LabelledImages labelled = load_labels(of_labels, model.classes);
        subject.truth = labels_of(target, images ? images->names : names, images, load, labelled);
        subject.truth_name = labels_;
      }
    }
    if (shows_pictures) subject.pictures = &*images;
    if (!out_.empty()) make_folder(std::filesystem::absolute(out_).parent_path().string());
    if (!figure_.empty()) {
      if (figure_ != "tsne") input_error("--figure {}: there is only tsne", printable(figure_));
      const std::string stem = out_.empty() ? run_ + "/tsne" : out_;
      write_tsne_figure(subject, options_, stem);
      print(fmt::format("{0}.svg\n{0}.png\n", safe_line(stem)));
      return;
    }
    const std::string path = out_.empty() ? run_ + "/report.html" : out_;
    const nlohmann::json data = write_report(subject, options_, path);
    if (common_.json)
      print(json_text({{"report", path}, {"bound", bound_log(data)}}, 2) + "\n");
    else
      print(safe_line(path) + "\n");
  }

 private:
  // The pictures that the run adapted to, which have these names.
  static ImageSet target_pictures(const std::string& target, const std::vector<std::string>& names,
                                  const LoadOptions& load) {
    ImageSet images = load_images(target, load);
    require_pictures_of_run(images, names, target, "restore them or make the report with --no-pictures");
    return images;
  }

  LabelledImages load_labels(const LoadOptions& load, const std::vector<std::string>& classes) const {
    std::vector<SkippedPicture> bad;
    LabelledImages labelled = load_labelled(labels_, load, classes, &bad);
    report_skipped(name(), bad, labelled.images.size() + static_cast<int64_t>(bad.size()));
    return labelled;
  }

  // The labels of the target pictures. Loads these into `images` if names do not tell which label is whose.
  Labels labels_of(const std::string& target, const std::vector<std::string>& names, std::optional<ImageSet>& images,
                   const LoadOptions& load, const LabelledImages& labelled) const {
    const auto pictures = [&]() -> const ImageSet* {
      try {
        if (!images) images = target_pictures(target, names, load);
        return &*images;
      } catch (const InputError&) {  // they are gone, but their names may suffice
        return nullptr;
      }
    };
    return match_labels({target, names, pictures}, labelled, labels_).labels;
  }

  bool model_is_there() const { return std::filesystem::exists(run_ + "/DONE"); }

  CommonOptions common_;
  DataOptions data_;
  ReportOptions options_;
  std::string run_, labels_, out_, figure_;
  bool pictures_ = true;
  OptionTable table_;
};

}  // namespace

std::unique_ptr<Command> make_report() {
  return std::make_unique<Report>();
}

}  // namespace tributary::cli
