#include <filesystem>
#include <optional>

#include "cli/command.h"
#include "tributary/artefacts/run_folder.h"
#include "tributary/base/error.h"
#include "tributary/base/json_text.h"
#include "tributary/base/print.h"
#include "tributary/base/text.h"
#include "tributary/report/figure.h"
#include "tributary/report/report_page.h"
#include "tributary/run/models.h"

namespace tributary::cli {
namespace {

class Report : public Command {
 public:
  std::string name() const override { return "report"; }
  std::string summary() const override { return "Write a report of a run: one page that works offline"; }
  std::string example() const override { return "tributary report runs/photos --labels labelled-photos/"; }

  void declare(CLI::App& app) override {
    app.add_option("run", run_, "run folder, finished or not")->required();
    common_.declare(table_);
    table_
        .text("", "labels", &labels_,
              "labelled target pictures, to show which predictions are right; the adaptation never sees them")
        .metavar("DATA");
    table_.text("", "out", &out_, "file to write; report.html or the figure's name in the run's folder if not given")
        .metavar("FILE");
    table_.text("", "figure", &figure_,
                "write a figure of the paper instead, as OUT.svg and OUT.png: tsne, the confident and unconfident "
                "features with true and pseudo-labels");
    table_.flag("", "pictures", &pictures_, "include thumbnails of target pictures; reads the target set again");
    tributary::declare(table_, options_);
    data_.declare(table_);
    table_.add_to(app);
  }

  const OptionTable& options() const override { return table_; }

  void run() override {
    common_.apply(table_);
    common_.prepare();
    options_.threads = static_cast<int>(common_.threads);
    const std::string target = target_of_run(run_);
    ReportSubject subject{run_};
    std::optional<ImageSet> images;
    const bool finished = model_is_there();
    if (!labels_.empty() || (pictures_ && finished && figure_.empty())) {
      const Ensemble ensemble = load_models({run_}, "", ImportOptions());
      const LoadOptions load = data_.for_preprocessing(ensemble.preprocessing(), common_.threads);
      if (!labels_.empty()) {
        LabelledImages labelled = load_labelled(labels_, load, ensemble.classes());
        subject.truth = std::move(labelled.labels);
        subject.truth_name = labels_;
        if (labels_ == target) images = std::move(labelled.images);
      }
      if (pictures_ && figure_.empty() && !images) images = load_images(target, load);
    }
    if (pictures_ && images) subject.pictures = &*images;
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
