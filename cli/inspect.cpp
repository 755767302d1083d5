#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "tributary/artefacts/run_folder.h"
#include "tributary/base/class_names.h"
#include "tributary/base/error.h"
#include "tributary/base/json_text.h"
#include "tributary/base/print.h"
#include "tributary/base/process.h"
#include "tributary/base/text.h"
#include "tributary/io/safetensors.h"
#include "tributary/io/score_file.h"
#include "tributary/io/weight_names.h"
#include "tributary/model_io/model_file.h"
#include "tributary/model_io/source_spec.h"
#include "tributary/terminal/table.h"

namespace tributary::cli {
namespace {

using nlohmann::json;

void list_tensors(const std::vector<TensorEntry>& entries, json& list) {
  for (const TensorEntry& entry : entries)
    list.push_back({{"name", entry.name}, {"dtype", std::string(name_of(entry.dtype))}, {"shape", entry.shape}});
}

// The description of one source of a model.
json source_facts(const SourceModel& source) {
  json facts = json::parse(to_json(source.info()));
  facts.erase("classes");
  facts["parameters"] = source.parameter_count();
  return facts;
}

json model_facts(const std::string& path, const std::string& format, const std::string& kind,
                 const Ensemble& ensemble) {
  json result = {{"file", path},
                 {"format", format},
                 {"kind", kind},
                 {"classes", ensemble.classes()},
                 {"input_size", ensemble.preprocessing().size},
                 {"tensors", json::array()},
                 {"missing", json::array()},
                 {"left_over", json::array()}};
  for (const auto& [name, rule] : combination_names())
    if (rule == ensemble.mixture.rule && ensemble.size() > 1) result["rule"] = name;
  for (int64_t j = 0; j < ensemble.size(); ++j) {
    json facts = source_facts(ensemble.sources[j]);
    if (ensemble.mixture.weights.defined()) facts["weight"] = ensemble.mixture.weights[j].item<double>();
    result["sources"].push_back(facts);
  }
  return result;
}

// A model file of this program.
json inspect_model(const std::string& path, const SafetensorsFile& raw, const Ensemble& ensemble) {
  json result = model_facts(path, "safetensors", raw.metadata().at("kind"), ensemble);
  list_tensors(raw.entries(), result["tensors"]);
  return result;
}

// Python that loads the state dictionary of a file, without the keys and prefixes of wrappers.
std::string load_expression(const TensorFile& file) {
  std::string load = fmt::format("torch.load({})", json_text(file.path()));  // Python reads texts of JSON
  for (const std::string& key : file.wrappers()) load += fmt::format("[\"{}\"]", key);
  const auto& ignored = file.ignored();
  const bool lightning = std::find(ignored.begin(), ignored.end(), "pytorch-lightning_version") != ignored.end();
  const std::string prefix = lightning ? "model." : file.prefix();
  if (prefix.empty()) return load;
  return fmt::format("{{k.removeprefix(\"{}\"): v for k, v in {}.items()}}", prefix, load);
}

// Weights of other programs: the tensors, and how they match one of our networks. The file is read as data; none of its
// code runs.
json inspect_checkpoint(const std::string& path, const ImportOptions& options) {
  json result = {{"file", path}, {"kind", "state_dict"}, {"tensors", json::array()}, {"ignored", json::array()}};
  const auto add_files = [&](const std::vector<TensorFile>& files) {
    for (const TensorFile& file : files) {
      result["format"] = name_of(file.format());
      list_tensors(file.entries(), result["tensors"]);
      for (const std::string& name : file.ignored()) result["ignored"].push_back(name);
    }
  };
  try {
    const WeightFile keep = read_weights(path, options);
    add_files(keep.files);
    result["classes"] = keep.info.classes;
    result["input_size"] = keep.info.preprocessing.size;
    result["missing"] = keep.missing;
    result["left_over"] = keep.left_over;
    result["sources"] = {source_facts(SourceModel(keep.info, Init()))};
  } catch (const UnknownNetwork&) {
    std::vector<TensorFile> files;
    files.push_back(TensorFile::read(path));
    add_files(files);
    std::vector<ForeignTensor> tensors;
    for (const TensorEntry& entry : files.front().entries()) tensors.push_back({entry.name, entry.shape});
    result["last_layer_candidates"] = last_layer_candidates(tensors);
    result["load"] = load_expression(files.front());
    result["refused"] = fmt::format("{}: its tensors ({}) match no known architecture; save the network as TorchScript",
                                    path, tensors.size());
    return result;
  }
  try {
    load_sources({path}, options);
  } catch (const InputError& refused) {
    result["refused"] = refused.what();
  }
  return result;
}

// How a network that is not built in becomes a source.
std::string torchscript_advice(const json& result) {
  constexpr size_t kMost = 4;
  const std::filesystem::path file = result.at("file").get<std::string>();
  const std::string script = std::filesystem::path(file).replace_extension(".pt").filename().string();
  auto layers = result.at("last_layer_candidates").get<std::vector<std::string>>();
  layers.resize(std::min(layers.size(), kMost));
  return fmt::format(
      "\nAny network can be a source as TorchScript. In Python, where `net` is the network:\n\n"
      "    net.load_state_dict({0})\n"
      "    net.eval()\n"
      "    torch.jit.script(net).save({4})\n\n"
      "Then: tributary inspect {1} --trust --last-layer {2}\n"
      "And:  tributary adapt --source {1}:last-layer={2} ... --trust\n{3}"
      "docs/bring-your-own-model.md has the details.\n",
      result.at("load").get<std::string>(), shell_word(script == file.filename() ? "scripted.pt" : script),
      layers.empty() ? "NAME" : shell_word(layers.front()),
      layers.size() > 1 ? fmt::format("Its linear layers, the last first: {}\n", fmt::join(layers, ", ")) : "",
      json_text(script == file.filename() ? "scripted.pt" : script));
}

json inspect_script(const std::string& path, const ImportOptions& options) {
  if (!options.trust)
    return {{"file", path},
            {"format", "torchscript"},
            {"kind", "code"},
            {"refused", path + " is code; add --trust to load it"}};
  Ensemble ensemble;
  ensemble.sources.push_back(import_script(path, options));
  json result = model_facts(path, "torchscript", "code", ensemble);
  for (const NamedTensor& tensor : ensemble.sources.front().state())
    result["tensors"].push_back({{"name", tensor.name},
                                 {"dtype", tensor.value.is_floating_point() ? "F32" : "I64"},
                                 {"shape", tensor.value.sizes().vec()}});
  return result;
}

// Scores of pictures, a source that is only predictions.
json inspect_scores(const std::string& path) {
  const ScoreFile scores = read_score_file(path);
  json result = {{"file", path},
                 {"format", path.substr(path.rfind('.') + 1)},
                 {"kind", "scores"},
                 {"pictures", scores.rows},
                 {"columns", scores.columns},
                 {"named_pictures", !scores.pictures.empty()},
                 {"classes", scores.classes}};
  try {
    result["scores"] = kind_of(scores, ScoreKind::kAuto) == ScoreKind::kLogits ? "logits" : "probabilities";
  } catch (const InputError& refused) {
    result["refused"] = refused.what();
  }
  return result;
}

// `source` is FILE, or FILE:classes=LIST as for --source.
json inspect_any(const std::string& source, const ImportOptions& common) {
  const SourceSpec spec = parse_source(source, common);
  const std::string path = model_path(spec.path);
  const ImportOptions& options = spec.options;
  if (is_score_file(path)) return inspect_scores(path);
  if (is_triplet(path)) return inspect_checkpoint(path, options);
  const FileFormat format = format_of(path);
  if (format == FileFormat::kTorchScript) return inspect_script(path, options);
  if (format != FileFormat::kSafetensors) return inspect_checkpoint(path, options);
  const SafetensorsFile raw = SafetensorsFile::read(path);
  if (!is_ours(raw)) return inspect_checkpoint(path, options);
  return inspect_model(path, raw, spec.path == source ? load_ensemble(path, options) : load_sources({source}, common));
}

std::string joined(const std::vector<std::string>& names) {
  return fmt::format("{}", fmt::join(names, ", "));
}

// The names, or the first few of many.
std::string first_of(std::vector<std::string> names) {
  constexpr size_t kMost = 12;
  const size_t count = names.size();
  names.resize(std::min(count, kMost));
  return joined(names) + (count > kMost ? fmt::format(" and {} more", count - kMost) : "");
}

class Inspect : public Command {
 public:
  std::string name() const override { return "inspect"; }
  std::string summary() const override { return "Show the contents of a model file"; }
  std::string example() const override { return "tributary inspect webcam.pth"; }

  void declare(CLI::App& app) override {
    app.add_option("model", path_,
                   "run folder, model file, PyTorch checkpoint, TorchScript or scores (.csv, .npy, .npz)")
        ->required()
        ->type_name("FILE");
    table_.flag("", "json", &json_, "print the result as JSON").transient();
    table_.flag("", "tensors", &tensors_, "list every tensor").transient();
    tributary::declare(table_, import_);
    table_.help_group("Output", {"json", "tensors"});
    table_.help_group("Imported weights", {"architecture", "size", "classes", "trust", "last_layer"});
    table_.add_to(app);
  }

  const OptionTable& options() const override { return table_; }

  void run() override {
    table_.apply_flags();
    const json result = inspect_any(path_, import_);
    if (json_)
      print(json_text(result, 2) + "\n");
    else
      show(result);
    if (result.contains("refused")) throw InputError(result.at("refused").get<std::string>());
  }

 private:
  void show(const json& result) const {
    const auto text = [&result](const char* key) { return safe_line(result.at(key).get<std::string>()); };
    print(fmt::format("{}: {}, {}", text("file"), text("format"), text("kind")));
    if (result.contains("sources"))
      show_model(result);
    else if (result.at("kind") == "scores")
      show_scores(result);
    else
      print("\n");
    for (const char* key : {"ignored", "missing", "left_over"})
      if (result.contains(key) && !result.at(key).empty())
        print(fmt::format("{}: {}\n", key, safe_line(first_of(result.at(key).get<std::vector<std::string>>()))));
    if (result.contains("last_layer_candidates")) print(torchscript_advice(result));
    if (!tensors_ || !result.contains("tensors")) return;
    Table tensors({{"tensor"}, {"type"}, {"shape"}});
    for (const auto& tensor : result.at("tensors"))
      tensors.add_row({tensor.at("name"), tensor.at("dtype"),
                       fmt::format("{}", fmt::join(tensor.at("shape").get<std::vector<int64_t>>(), " x "))});
    print("\n" + tensors.to_text());
  }

  static void show_scores(const json& result) {
    const auto classes = result.at("classes").get<std::vector<std::string>>();
    print(fmt::format(", {} of {} {}pictures, {} classes ({})\n", result.value("scores", std::string("scores")),
                      thousands(result.at("pictures").get<int64_t>()),
                      result.at("named_pictures").get<bool>() ? "" : "unnamed ", result.at("columns").get<int64_t>(),
                      classes.empty() ? "without names" : printable(joined(classes), 60)));
  }

  static void show_model(const json& result) {
    const auto classes = result.at("classes").get<std::vector<std::string>>();
    const json& first = result.at("sources").at(0);
    const int size = first.at("input_size"), resize = first.at("resize");
    print(fmt::format(", {} classes ({}), pictures of {}x{}{}{}\n\n", classes.size(), printable(joined(classes), 60),
                      size, size, resize > size ? fmt::format(" out of {}x{}", resize, resize) : "",
                      first.at("keep_aspect").get<bool>() ? ", aspect kept" : ""));
    for (const auto& source : result.at("sources"))
      print(fmt::format("{}: {}, mean {:g}, std {:g}\n", safe_line(source.at("name").get<std::string>()),
                        source.value("interpolation", std::string("bilinear")),
                        fmt::join(source.at("mean").get<std::vector<double>>(), " "),
                        fmt::join(source.at("deviation").get<std::vector<double>>(), " ")));
    std::vector<Column> columns = {
        {"source"}, {"architecture"}, {"features", Align::kRight}, {"parameters", Align::kRight}};
    if (first.contains("weight")) columns.push_back({"weight", Align::kRight});
    Table sources(columns);
    for (const auto& source : result.at("sources")) {
      std::vector<std::string> cells = {source.at("name"), source.at("architecture"),
                                        std::to_string(source.at("feature_width").get<int64_t>()),
                                        thousands(source.at("parameters").get<int64_t>())};
      if (first.contains("weight")) cells.push_back(fmt::format("{:.3f}", source.at("weight").get<double>()));
      sources.add_row(cells);
    }
    print(sources.to_text());
    if (are_numbered(classes) && (result.at("kind") == "state_dict" || result.at("kind") == "code"))
      print("\nThe classes have no names; give a list of them with --classes FILE.\n");
  }

  std::string path_;
  bool json_ = false, tensors_ = false;
  ImportOptions import_;
  OptionTable table_;
};

}  // namespace

std::unique_ptr<Command> make_inspect() {
  return std::make_unique<Inspect>();
}

}  // namespace tributary::cli
