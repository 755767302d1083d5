#include "tributary/api/adapt.h"

#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>
#include <utility>

#include "tributary/api/option_list.h"
#include "tributary/api/picture_input.h"
#include "tributary/api/plain_errors.h"
#include "tributary/api/torch_scope.h"
#include "tributary/base/error.h"
#include "tributary/base/files.h"
#include "tributary/base/json_text.h"
#include "tributary/report/report_page.h"
#include "tributary/run/adaptation_setup.h"
#include "tributary/run/models.h"

namespace tributary {
namespace {

// Passes on to the caller's listener and observer, warnings and reasons without flags.
class HookListener : public RunListener {
 public:
  explicit HookListener(const Hooks& hooks) : hooks_(hooks), listener_(hooks.listener ? *hooks.listener : none_) {}

  void on_skipped(const std::vector<SkippedPicture>& skipped, int64_t total) override {
    listener_.on_skipped(without_flags(skipped), total);
  }
  void on_resume(int64_t round) override { listener_.on_resume(round); }
  void on_memory_plan(const MemoryPlan& plan) override { listener_.on_memory_plan(plan); }
  void on_memory_retry(const PassMemory& memory) override { listener_.on_memory_retry(memory); }
  void on_warning(const std::string& message) override { listener_.on_warning(without_flags(message)); }
  void on_progress(double share, const std::string& title, const std::string& facts) override {
    listener_.on_progress(share, title, facts);
  }
  void on_trained() override { listener_.on_trained(); }

  std::unique_ptr<Observer> make_observer(const AccuracyObserver* accuracy) override {
    struct Both : Observers {
      Both(std::vector<Observer*> all, std::unique_ptr<Observer> made)
          : Observers(std::move(all)), owned(std::move(made)) {}
      std::unique_ptr<Observer> owned;
    };
    std::unique_ptr<Observer> made = listener_.make_observer(accuracy);
    std::vector<Observer*> all;
    if (made) all.push_back(made.get());
    if (hooks_.observer) all.push_back(hooks_.observer);
    return std::make_unique<Both>(std::move(all), std::move(made));
  }

 private:
  const Hooks& hooks_;
  RunListener none_;
  RunListener& listener_;
};

void add_pictures(AdaptationRunOptions& options, const Pictures& target, const Pictures* test) {
  options.target = target.in_memory() ? target.array().name() : target.path();
  options.target_array = target.array();
  if (test == nullptr) return;
  options.test = test->in_memory() ? test->array().name() : test->path();
  options.test_array = test->array();
  options.test_labels = test->labels();
}

// The settings of a run with which its model is loaded.
Settings model_settings(const Settings& settings) {
  Settings own;
  for (const Setting& setting : settings)
    if (setting.key() == "device" || setting.key() == "threads" || setting.key() == "trust") own.push_back(setting);
  return own;
}

}  // namespace

Run::Run(std::string folder, Settings settings) : folder_(std::move(folder)), settings_(std::move(settings)) {
  with_plain_errors([&] {
    std::error_code error;
    const auto status = std::filesystem::status(folder_, error);
    if (!std::filesystem::exists(status)) missing_file_error("{} does not exist; check the path", folder_);
    if (!std::filesystem::is_directory(status)) input_error("{} is no folder; name the folder of a run", folder_);
    model_path(folder_);  // refuses unfinished runs
    summary_ = read_text(folder_ + "/summary.json");
  });
}

std::vector<std::string> Run::rounds() const {
  std::vector<std::string> lines;
  with_plain_errors([&] {
    std::istringstream text(read_text(folder_ + "/metrics.jsonl"));
    for (std::string line; std::getline(text, line);)
      if (!line.empty()) lines.push_back(line);
  });
  return lines;
}

const Model& Run::model() const {
  if (!model_) model_ = std::make_shared<const Model>(folder_, settings_);
  return *model_;
}

void Run::report(const std::string& path, const Pictures* target) const {
  with_plain_errors([&] {
    require_writable_target(path);
    const TorchScope restored;
    ReportSubject subject{folder_};
    ImageSet images;
    if (target != nullptr) {
      LoadOptions load;
      load.preprocessing = model().preprocessing();
      images = load_images(*target, load, nullptr);
      subject.pictures = &images;
    }
    ReportOptions options;
    options.threads = set_threads(0);
    write_report(subject, options, path);
  });
}

Run adapt(const std::vector<std::string>& sources, const Pictures& target, const std::string& folder,
          const Settings& settings, const Hooks& hooks) {
  with_plain_errors([&] {
    if (sources.empty()) input_error("there are no source models in the list; name at least one");
    if (!target.in_memory() && target.path().empty())
      input_error("the path of the target pictures is empty; name them");
    if (folder.empty()) input_error("the name of the run's folder is empty; name one");
    AdaptationSetup setup;
    apply_settings(setup.table, settings);
    for (const std::string& source : sources) setup.table.set_flag("sources", "source", source);
    setup.resolve();
    setup.options.folder = folder;
    setup.options.import.trusts_specs = true;
    add_pictures(setup.options, target, hooks.test);
    const TorchScope restored;
    HookListener listener(hooks);
    setup.prepare(listener).run();
  });
  return Run(folder, model_settings(settings));
}

}  // namespace tributary
