#include <fmt/ranges.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "tributary/base/error.h"
#include "tributary/base/files.h"
#include "tributary/base/json_text.h"
#include "tributary/base/print.h"
#include "tributary/base/text.h"
#include "tributary/model_io/export.h"

namespace tributary::cli {
namespace {

struct Format {
  const char* key;
  void (*write)(const std::string&, const Ensemble&);
  std::string path;
};

class Export : public Command {
 public:
  std::string name() const override { return "export"; }
  std::string summary() const override { return "Export a model to one file for other programs"; }
  std::string example() const override { return "tributary export runs/photos --onnx photos.onnx"; }

  void declare(CLI::App& app) override {
    app.add_option("model", models_, "run folder, mixture file, or sources (a plain ensemble)")
        ->required()
        ->type_name("FILE");
    const char* const help[] = {
        "ONNX file to write: pixels, uint8 [n, size, size, 3] in RGB, to probabilities [n, classes]",
        "TorchScript file to write, for torch.jit.load", "model file to write, in the format of tributary train",
        "state dict to write, for torch.load; a single source gets torchvision's names",
        "JSON file to write: the classes, and how to prepare pictures for the exported files"};
    for (size_t i = 0; i < formats_.size(); ++i)
      table_.text("", formats_[i].key, &formats_[i].path, help[i]).metavar("FILE").transient();
    table_.text("", "source", &source_, "export one source, by name or number, instead of the mixture").transient();
    table_.text("", "rule", &rule_, "combination of several models: mean_prob, mean_logit or vote");
    table_.flag("", "json", &json_, "print the result as JSON").transient();
    tributary::declare(table_, import_);
    table_.help_group("Output", {"onnx", "torchscript", "safetensors", "state_dict", "card", "json"});
    table_.help_group("Model", {"source", "rule"});
    table_.help_group("Imported weights", {"architecture", "size", "classes", "trust", "last_layer"});
    table_.add_to(app);
  }

  const OptionTable& options() const override { return table_; }

  void run() override {
    table_.apply_flags();
    bool any = false;
    for (const Format& format : formats_) {
      if (format.path.empty()) continue;
      require_writable_target(format.path);
      any = true;
    }
    if (!any) input_error("name at least one file with --onnx, --torchscript, --safetensors, --state-dict or --card");
    if (!source_.empty() && !rule_.empty())
      input_error("--rule combines models, but --source exports one of them; leave one of the two out");
    Ensemble ensemble = load_named_models(name(), models_, rule_, import_);
    if (!source_.empty()) choose(ensemble);
    nlohmann::json result = nlohmann::json::array();
    for (const Format& format : formats_) {
      if (format.path.empty()) continue;
      make_folder(std::filesystem::absolute(format.path).parent_path().string());
      format.write(format.path, ensemble);
      result.push_back({{"file", format.path}, {"bytes", std::filesystem::file_size(format.path)}});
    }
    warn_about_stride(ensemble);
    if (json_) {
      print(json_text(result, 2) + "\n");
      return;
    }
    for (const auto& file : result)
      print(fmt::format("{}: {}\n", safe_line(file.at("file").get<std::string>()),
                        size_text(file.at("bytes").get<double>())));
  }

 private:
  static std::string size_text(double bytes) {
    constexpr double kMegabyte = 1e6, kKilobyte = 1e3;
    return bytes < kMegabyte ? fmt::format("{:.1f} kB", bytes / kKilobyte)
                             : fmt::format("{:.1f} MB", bytes / kMegabyte);
  }

  // Removes all sources but the one that --source names. A name comes before a number.
  void choose(Ensemble& ensemble) const {
    std::vector<std::string> names;
    std::vector<size_t> found;
    for (size_t j = 0; j < ensemble.sources.size(); ++j) {
      names.push_back(ensemble.sources[j].info().name);
      if (source_ == names.back()) found.push_back(j);
    }
    if (found.size() > 1)
      input_error("--source {}: the model has {} sources of this name; choose one by number, among {}", source_,
                  found.size(), fmt::join(found, ", "));
    for (size_t j = 0; j < names.size() && found.empty(); ++j)
      if (source_ == std::to_string(j)) found.push_back(j);
    if (found.empty())
      input_error("--source {}: the model has no such source; it has {}", source_, fmt::join(names, ", "));
    Ensemble alone;
    alone.sources.push_back(std::move(ensemble.sources[found.front()]));
    keep_known_classes(alone.sources.front());
    ensemble = std::move(alone);
  }

  void warn_about_stride(const Ensemble& ensemble) const {
    if (formats_[kStateDict].path.empty() || ensemble.size() > 1 ||
        ensemble.sources.front().info().first_stride == FirstStride::kIn3x3)
      return;
    print_message(fmt::format(
        "tributary export: {} has its strides in the first 1x1 convolutions; torchvision's network has them in the 3x3 "
        "and must be changed to give the same results",
        formats_[kStateDict].path));
  }

  static constexpr size_t kStateDict = 3;

  std::vector<std::string> models_;
  std::array<Format, 5> formats_ = {{{"onnx", export_onnx, {}},
                                     {"torchscript", export_torchscript, {}},
                                     {"safetensors", export_safetensors, {}},
                                     {"state_dict", export_state_dict, {}},
                                     {"card", export_card, {}}}};
  std::string source_, rule_;
  bool json_ = false;
  ImportOptions import_;
  OptionTable table_;
};

}  // namespace

std::unique_ptr<Command> make_export() {
  return std::make_unique<Export>();
}

}  // namespace tributary::cli
