#include "tributary/run/run_outputs.h"

#include "tributary/base/files.h"
#include "tributary/base/json_text.h"
#include "tributary/report/history.h"
#include "tributary/report/report_page.h"

namespace tributary {
namespace {

// Rewrites the page after every round, without the parts that take long.
class LiveReport : public Observer {
 public:
  explicit LiveReport(const RunFolder& folder) : folder_(folder) {}
  void on_round(const RoundEvent&) override {
    ReportOptions quick;
    quick.embedded_rounds = 0;
    quick.bound = false;
    write_report({folder_.path()}, quick, folder_.file("report.html"));
  }

 private:
  const RunFolder& folder_;
};

}  // namespace

void declare(OptionTable& table, RunOutputOptions& options) {
  const std::string section = "report";
  table.flag(section, "history", &options.history, "store the data of every round that a report needs").transient();
  table.flag(section, "report", &options.page, "write report.html at the end; needs --history").transient();
  table.flag(section, "live", &options.live, "write report.html after every round; the page reloads itself")
      .transient();
  table.flag(section, "tensorboard", &options.tensorboard, "write a TensorBoard event file to the run folder")
      .transient();
  declare(table, options.report);
}

RunOutputs::RunOutputs(const RunFolder& folder, const RunOutputOptions& options, const AccuracyObserver* accuracy,
                       std::vector<Observer*>& listeners)
    : folder_(folder), options_(options) {
  if (options.history) observers_.push_back(std::make_unique<HistoryObserver>(folder, HistoryOptions()));
  if (options.tensorboard) {
    auto curves = std::make_unique<TensorBoardObserver>(folder.path(), accuracy);
    curves_ = curves.get();
    observers_.push_back(std::move(curves));
  }
  if (options.history && options.live) observers_.push_back(std::make_unique<LiveReport>(folder));
  for (const auto& observer : observers_) listeners.push_back(observer.get());
}

void RunOutputs::add_confidence(const Tensor& confidence) const {
  if (options_.history) write_result_confidence(folder_, confidence);
}

void RunOutputs::finish(const ReportSubject& subject) const {
  if (!options_.history || !options_.page) return;
  const nlohmann::json data = write_report(subject, options_.report, folder_.file("report.html"));
  std::string lines;
  for (const nlohmann::json& bound : bound_log(data)) {
    lines += json_text(bound) + "\n";
    if (curves_) curves_->add_bound(bound);
  }
  if (!lines.empty()) write_file_atomically(folder_.file("bound.jsonl"), lines);
}

}  // namespace tributary
