#include <fmt/ranges.h>

#include <array>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "tributary/base/text.h"
#include "tributary/model/model_file.h"
#include "tributary/model/pytorch_file.h"
#include "tributary/model/safetensors.h"
#include "tributary/report/run_folder.h"
#include "tributary/report/table.h"

namespace tributary::cli {
namespace {

int64_t parameters_of(const SourceModel& source) {
  int64_t count = 0;
  for (const NamedTensors& part :
       {source.backbone_parameters(), source.bottleneck_parameters(), source.classifier_parameters()})
    for (const NamedTensor& tensor : part) count += tensor.value.numel();
  return count;
}

nlohmann::json tensors_of(const std::vector<TensorEntry>& entries) {
  nlohmann::json list = nlohmann::json::array();
  for (const TensorEntry& entry : entries)
    list.push_back({{"name", entry.name}, {"dtype", std::string(name_of(entry.dtype))}, {"shape", entry.shape}});
  return list;
}

// A PyTorch checkpoint: its tensors, and what else lies in it. It is read as data; nothing of it is run.
nlohmann::json inspect_checkpoint(const std::string& path) {
  const PytorchFile file = PytorchFile::read(path);
  return {{"file", path},
          {"format", file.legacy() ? "pytorch-legacy" : "pytorch-zip"},
          {"kind", "state_dict"},
          {"tensors", tensors_of(file.entries())},
          {"ignored", file.ignored()}};
}

// A model of ours, or a run's.
nlohmann::json inspect_model(const std::string& path) {
  const Ensemble ensemble = load_ensemble(path);
  const SafetensorsFile raw = SafetensorsFile::read(path);
  nlohmann::json result = {{"file", path},
                           {"format", "safetensors"},
                           {"kind", raw.metadata().at("kind")},
                           {"classes", ensemble.classes()},
                           {"input_size", ensemble.input_size()},
                           {"tensors", tensors_of(raw.entries())}};
  for (const auto& [name, rule] : combination_names())
    if (rule == ensemble.mixture.rule && ensemble.size() > 1) result["rule"] = name;
  for (int64_t j = 0; j < ensemble.size(); ++j) {
    const SourceModel& source = ensemble.sources[j];
    nlohmann::json entry = {{"name", source.info().name},
                            {"architecture", source.info().architecture},
                            {"feature_width", source.info().feature_width},
                            {"parameters", parameters_of(source)},
                            {"mean", source.info().normalisation.mean},
                            {"deviation", source.info().normalisation.deviation}};
    if (ensemble.mixture.weights.defined()) entry["weight"] = ensemble.mixture.weights[j].item<double>();
    result["sources"].push_back(entry);
  }
  return result;
}

bool is_pytorch_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::array<char, 32> start = {};
  file.read(start.data(), start.size());
  return looks_like_pytorch_file({reinterpret_cast<const uint8_t*>(start.data()), static_cast<size_t>(file.gcount())});
}

class Inspect : public Command {
 public:
  std::string name() const override { return "inspect"; }
  std::string summary() const override { return "Say what a model file holds"; }
  std::string example() const override { return "tributary inspect webcam.safetensors"; }

  void declare(CLI::App& app) override {
    app.add_option("model", path_, "run folder, model file or PyTorch checkpoint")->required();
    table_.flag("", "json", &json_, "print the result as JSON").transient();
    table_.flag("", "tensors", &tensors_, "list every tensor").transient();
    table_.add_to(app);
  }

  const OptionTable& options() const override { return table_; }

  void run() override {
    table_.apply_flags();
    const std::string file = model_path(path_);
    const nlohmann::json result = is_pytorch_file(file) ? inspect_checkpoint(file) : inspect_model(file);
    if (json_)
      std::cout << result.dump(2) << '\n';
    else
      show(result);
  }

 private:
  void show(const nlohmann::json& result) const {
    if (result.contains("sources"))
      show_model(result);
    else
      std::cout << fmt::format("{}: {}, {} tensors; ignored: {}\n", result.at("file").get<std::string>(),
                               result.at("format").get<std::string>(), result.at("tensors").size(),
                               result.at("ignored").empty() ? "nothing" : result.at("ignored").dump());
    if (!tensors_) return;
    Table tensors({{"tensor"}, {"type"}, {"shape"}});
    for (const auto& tensor : result.at("tensors"))
      tensors.add_row({tensor.at("name"), tensor.at("dtype"),
                       fmt::format("{}", fmt::join(tensor.at("shape").get<std::vector<int64_t>>(), " x "))});
    std::cout << '\n' << tensors.to_text();
  }

  static void show_model(const nlohmann::json& result) {
    const auto classes = result.at("classes").get<std::vector<std::string>>();
    const int size = result.at("input_size");
    std::cout << fmt::format("{}: {}, {} classes ({}), pictures of {}x{}\n\n", result.at("file").get<std::string>(),
                             result.at("kind").get<std::string>(), classes.size(),
                             shorten(fmt::format("{}", fmt::join(classes, ", ")), 60), size, size);
    Table sources({{"source"},
                   {"architecture"},
                   {"features", Align::kRight},
                   {"parameters", Align::kRight},
                   {"weight", Align::kRight}});
    for (const auto& source : result.at("sources"))
      sources.add_row({source.at("name"), source.at("architecture"),
                       std::to_string(source.at("feature_width").get<int64_t>()),
                       thousands(source.at("parameters").get<int64_t>()),
                       source.contains("weight") ? fmt::format("{:.3f}", source.at("weight").get<double>()) : "-"});
    std::cout << sources.to_text();
  }

  std::string path_;
  bool json_ = false, tensors_ = false;
  OptionTable table_;
};

}  // namespace

std::unique_ptr<Command> make_inspect() {
  return std::make_unique<Inspect>();
}

}  // namespace tributary::cli
