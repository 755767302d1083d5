#include "tributary/report/history.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "tributary/adapt/feature_rows.h"
#include "tributary/base/error.h"
#include "tributary/base/files.h"
#include "tributary/base/json_number.h"
#include "tributary/base/json_text.h"
#include "tributary/embedding/principal_components.h"
#include "tributary/io/safetensors.h"

namespace tributary {
namespace {

namespace fs = std::filesystem;

constexpr const char* kResultFile = "history/result.safetensors";

// Collects tensors for a file, in compact dtypes.
class Collected {
 public:
  void add(const std::string& name, const Tensor& value, torch::ScalarType type, DType dtype) {
    if (!value.defined()) return;
    tensors_.push_back(value.to(torch::kCPU, type).contiguous());
    const Tensor& stored = tensors_.back();
    entries_.push_back(
        {name, dtype, stored.sizes().vec(), {static_cast<const uint8_t*>(stored.data_ptr()), stored.nbytes()}});
  }
  void add_classes(const std::string& name, const Tensor& value) {
    const bool fits = value.numel() == 0 || value.max().item<int64_t>() <= INT16_MAX;
    add(name, value, fits ? torch::kInt16 : torch::kInt32, fits ? DType::I16 : DType::I32);
  }
  void add_features(const std::string& name, const Tensor& value) { add(name, value, torch::kFloat16, DType::F16); }
  void write(const std::string& path) const { write_safetensors(path, entries_); }

 private:
  std::vector<Tensor> tensors_;
  std::vector<TensorEntry> entries_;
};

torch::ScalarType type_of(DType dtype, const std::string& file) {
  switch (dtype) {
    case DType::I16:
      return torch::kInt16;
    case DType::I32:
      return torch::kInt32;
    case DType::U8:
      return torch::kUInt8;
    case DType::F16:
      return torch::kFloat16;
    case DType::F32:
      return torch::kFloat32;
    default:
      input_error("{} is not a history file: a tensor has dtype {}", file, name_of(dtype));
  }
}

// Undefined if there is no such tensor.
Tensor read_tensor(const SafetensorsFile& file, const std::string& name, torch::ScalarType as) {
  const TensorEntry* const entry = file.find(name);
  if (!entry) return {};
  const Tensor value = torch::empty(entry->shape, type_of(entry->dtype, file.name()));
  std::memcpy(value.data_ptr(), entry->data.data(), entry->data.size());
  return value.to(as);
}

// The files of all rounds, in order.
std::vector<std::string> round_files(const std::string& run) {
  std::vector<std::string> files;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(run + "/history", error)) {
    const std::string stem = entry.path().stem().string();
    const bool number = !stem.empty() && stem.size() < 10 && stem.find_first_not_of("0123456789") == std::string::npos;
    if (number && entry.path().extension() == ".safetensors") files.push_back(entry.path().string());
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::string source_features_name(size_t source) {
  return "source_features." + std::to_string(source);
}

void check_shapes(const RoundHistory& round, const std::string& file) {
  const bool whole = round.label.defined() && round.confidence.defined() && round.source_label.defined() &&
                     round.sample.defined() && round.features.defined();
  if (!whole) input_error("{} is incomplete; repeat the run", file);
  const int64_t n = round.label.size(0), s = round.sample.size(0);
  const auto fits = [](const Tensor& value, int64_t rows, int64_t dimensions, int64_t axis) {
    return !value.defined() || (value.dim() == dimensions && value.size(axis) == rows);
  };
  bool fit = fits(round.pseudo_label, n, 1, 0) && fits(round.confidence, n, 1, 0) && fits(round.confident, n, 1, 0) &&
             fits(round.source_label, n, 2, 1) && fits(round.features, s, 2, 0);
  for (const Tensor& features : round.source_features) fit = fit && fits(features, s, 2, 0);
  fit = fit && s > 0 && round.sample.min().item<int64_t>() >= 0 && round.sample.max().item<int64_t>() < n;
  if (!fit) input_error("{} is damaged: its tensors have inconsistent shapes; repeat the run", file);
}

void check_labels(const RoundHistory& round, int64_t classes, const std::string& file) {
  for (const Tensor& label : {round.label, round.pseudo_label, round.source_label})
    if (label.defined() && label.numel() > 0 &&
        (label.min().item<int64_t>() < 0 || label.max().item<int64_t>() >= classes))
      input_error("{} is damaged: a label is not one of the {} classes; repeat the run", file, classes);
}

RoundHistory read_round(const std::string& path) {
  const SafetensorsFile file = SafetensorsFile::read(path);
  RoundHistory round;
  round.round = std::stoll(fs::path(path).stem().string());
  round.label = read_tensor(file, "label", torch::kInt64);
  round.pseudo_label = read_tensor(file, "pseudo_label", torch::kInt64);
  round.confidence = read_tensor(file, "confidence", torch::kFloat32);
  round.confident = read_tensor(file, "confident", torch::kBool);
  round.source_label = read_tensor(file, "source_label", torch::kInt64);
  round.sample = read_tensor(file, "sample", torch::kInt64);
  round.features = read_tensor(file, "features", torch::kFloat32);
  for (size_t j = 0; file.find(source_features_name(j)); ++j)
    round.source_features.push_back(read_tensor(file, source_features_name(j), torch::kFloat32));
  check_shapes(round, path);
  return round;
}

}  // namespace

void HistoryObserver::on_round(const RoundEvent& event) {
  const torch::NoGradGuard no_grad;
  if (event.round == 0 || !fs::exists(folder_.file("history/run.json"))) begin(*event.ensemble);
  const RoundFigures figures = figures_of(event);
  const bool denoised = figures.pseudo_label.defined();
  Collected round;
  round.add_classes("label", figures.label);
  if (denoised) round.add_classes("pseudo_label", figures.pseudo_label);
  round.add("confidence", denoised ? figures.pseudo_confidence : figures.confidence, torch::kFloat32, DType::F32);
  if (event.trained)
    round.add("confident",
              torch::zeros({figures.pictures}, torch::kUInt8).index_fill_(0, event.trained->confident.cpu(), 1),
              torch::kUInt8, DType::U8);
  round.add_classes("source_label", figures.source_label);

  Tensor sample = figures.sample.picture;
  std::vector<Tensor> sampled = figures.sample.features;
  if (!sample.defined()) {
    sample = sampled_pictures(figures.pictures, options_.pictures_of(event));
    sampled = sampled_features(event, sample);
  }
  const auto random = [&](uint64_t which) { return Random(0, Purpose::kSplit, {which}); };
  round.add("sample", sample, torch::kInt32, DType::I32);
  round.add_features("features", principal_scores(at::cat(sampled, 1), options_.width, random(0)));
  for (size_t j = 0; j < sampled.size(); ++j)
    round.add_features(source_features_name(j), principal_scores(sampled[j], options_.source_width, random(j + 1)));
  round.write(folder_.file(fmt::format("history/{:04}.safetensors", event.round)));
}

// Creates the folder, or empties that of an interrupted run, and writes what all rounds have in common.
void HistoryObserver::begin(const Ensemble& ensemble) const {
  make_folder(folder_.file("history"));
  for (const std::string& file : round_files(folder_.path())) fs::remove(file);
  fs::remove(folder_.file(kResultFile));
  nlohmann::json common = {{"classes", ensemble.classes()},
                           {"device", ensemble.sources.front().device().str()},
                           {"joint_width", ensemble.joint_width()}};
  common["sources"] = ensemble.member_names();
  if (const auto partly = partly_known(ensemble); !partly.empty()) common["known_by"] = partly;
  write_file_atomically(folder_.file("history/run.json"), json_text(common, 2) + "\n");
}

void write_result_confidence(const RunFolder& folder, const Tensor& confidence) {
  Collected result;
  result.add("confidence", confidence, torch::kFloat32, DType::F32);
  result.write(folder.file(kResultFile));
}

namespace {

Tensor read_result_confidence(const std::string& run, int64_t pictures) {
  const std::string path = run + "/" + kResultFile;
  std::error_code error;
  if (!fs::exists(path, error)) return {};
  const SafetensorsFile file = SafetensorsFile::read(path);
  const Tensor confidence = read_tensor(file, "confidence", torch::kFloat32);
  if (!confidence.defined() || confidence.dim() != 1 || confidence.size(0) != pictures)
    input_error("{} is damaged: it has other pictures than the rounds; repeat the run", path);
  return confidence;
}

}  // namespace

History read_history(const std::string& run) {
  const std::vector<std::string> files = round_files(run);
  if (files.empty()) input_error("{} has no history; run tributary adapt with --history", run);
  History history;
  const std::string common = run + "/history/run.json";
  try {
    const nlohmann::json object = nlohmann::json::parse(read_text(common, RunFolder::kMostJson));
    history.classes = object.at("classes").get<std::vector<std::string>>();
    history.sources = object.at("sources").get<std::vector<std::string>>();
    history.device = object.at("device");
    history.joint_width = whole_number(object, "joint_width", 0);
    if (object.contains("known_by"))
      history.known_by = object.at("known_by").get<std::map<std::string, std::vector<std::string>>>();
  } catch (const nlohmann::json::exception&) {
    input_error("{} is damaged; repeat the run", common);
  }
  for (const std::string& file : files) {
    history.rounds.push_back(read_round(file));
    check_labels(history.rounds.back(), static_cast<int64_t>(history.classes.size()), file);
  }
  history.result_confidence = read_result_confidence(run, history.rounds.back().label.size(0));
  return history;
}

}  // namespace tributary
