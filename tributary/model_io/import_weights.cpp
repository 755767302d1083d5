#include "tributary/model_io/import_weights.h"

#include <fmt/ranges.h>

#include <array>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <optional>
#include <set>
#include <sstream>

#include "tributary/base/class_names.h"
#include "tributary/base/error.h"
#include "tributary/base/files.h"
#include "tributary/base/path_names.h"
#include "tributary/base/text.h"
#include "tributary/io/weight_names.h"
#include "tributary/model/scripted_source.h"
#include "tributary/model_io/class_list.h"
#include "tributary/model_io/fit_tensor.h"
#include "tributary/model_io/timm_config.h"

namespace tributary {
namespace {

constexpr int64_t kMaxSide = 4096;   // height and width of pictures in pixels
constexpr int64_t kMaxRows = 65536;  // of the weight of a bottleneck or classifier
constexpr std::array<const char*, 3> kTriplet = {"source_F.pt", "source_B.pt", "source_C.pt"};

std::string first_few(const std::vector<std::string>& names) {
  constexpr size_t kShown = 4;
  std::vector<std::string> shown;
  for (size_t i = 0; i < std::min(names.size(), kShown); ++i) shown.push_back(printable(names[i]));
  return fmt::format("{}{}", fmt::join(shown, ", "),
                     names.size() > kShown ? fmt::format(" and {} more", names.size() - kShown) : "");
}

std::array<double, 3> three_numbers(const std::string& text, const std::string& what) {
  std::array<double, 3> values = {};
  std::istringstream parts(text);
  std::string part;
  size_t count = 0;
  bool good = !text.ends_with(',');
  for (; good && std::getline(parts, part, ','); ++count) {
    const size_t first = std::min(part.find_first_not_of(' '), part.size());
    const char* end = part.data() + part.size();
    double value = 0;
    const auto read = std::from_chars(part.data() + first, end, value);
    good = count < 3 && read.ec == std::errc() && read.ptr == end && std::isfinite(value);
    if (good) values[count] = value;
  }
  if (!good || count != 3) input_error("{}: '{}' is not three comma-separated numbers", what, printable(text));
  return values;
}

std::string name_of_source(const std::string& path) {
  if (!is_triplet(path)) return utf8_text(telling_model_name(path));
  const std::string folder = telling_folder(path);
  return utf8_text(folder.empty() ? std::filesystem::path(path).lexically_normal().filename().string() : folder);
}

// Fills options that the user did not give from the metadata of a safetensors file.
void apply_metadata(const SafetensorsMetadata& metadata, const std::string& file, ImportOptions& options) {
  const auto value = [&](const char* key) {
    const auto found = metadata.find(key);
    return found == metadata.end() ? std::string() : found->second;
  };
  const std::string network = value("architecture");
  const std::vector<std::string> known = architecture_names();
  if (options.architecture.empty() && !network.empty()) {
    if (std::find(known.begin(), known.end(), network) == known.end())
      input_error("{}: unknown architecture '{}' in the metadata; name one with --architecture: {}", file,
                  printable(network), fmt::join(known, ", "));
    options.architecture = network;
  }
  const auto numbers = [&](const char* key, const char* option, bool positive) {
    const std::string what = fmt::format("{}: '{}' in the metadata", file, key);
    const std::array<double, 3> values = three_numbers(value(key), what);
    if (positive && !std::all_of(values.begin(), values.end(), [](double x) { return x > 0; }))
      input_error("{}: {} is not positive; override it with {}", what, value(key), option);
    return value(key);
  };
  if (options.mean.empty() && !value("mean").empty()) options.mean = numbers("mean", "--mean", false);
  if (options.deviation.empty() && !value("std").empty()) options.deviation = numbers("std", "--std", true);
  const std::string stride = value("stride");
  if (options.stride == StrideChoice::kAuto && stride == "1x1") options.stride = StrideChoice::kIn1x1;
  const std::string size = value("input_size");
  if (options.size > 0 || size.empty()) return;
  const auto read = std::from_chars(size.data(), size.data() + size.size(), options.size);
  if (read.ec != std::errc() || read.ptr != size.data() + size.size() || options.size < 1 || options.size > kMaxSide)
    input_error("{}: invalid input size '{}' in the metadata; override it with --size", file, printable(size));
}

// The tensors of all files under our names.
struct Collected {
  std::map<std::string, const TensorEntry*> entries;
  std::map<std::string, std::string> theirs;  // our name -> name in the file
  ShapeMap shapes;
};

std::vector<ForeignTensor> tensors_of(const TensorFile& file) {
  std::vector<ForeignTensor> tensors;
  for (const TensorEntry& entry : file.entries()) tensors.push_back({entry.name, entry.shape});
  return tensors;
}

// With a `match`, the first file has the names that it says.
Collected collect(const std::vector<TensorFile>& files, const NetworkMatch* match) {
  Collected all;
  for (const TensorFile& file : files) {
    const bool matched = match != nullptr && &file == &files.front();
    const std::vector<std::string> names = matched ? match->names : our_names(tensors_of(file));
    for (size_t i = 0; i < names.size(); ++i) {
      if (names[i].empty()) continue;
      const TensorEntry& entry = matched && match->joined[i] != nullptr ? *match->joined[i] : file.entries()[i];
      if (!all.entries.emplace(names[i], &entry).second)
        input_error("{}: tensors {} and {} are the same parameter; give files of one model", file.path(),
                    printable(all.theirs.at(names[i])), printable(entry.name));
      all.theirs.emplace(names[i], entry.name);
      all.shapes.emplace(names[i], entry.shape);
    }
  }
  return all;
}

// Fills the parts of the description that follow from tensor shapes.
void describe(const Collected& all, const std::string& path, int64_t backbone_width, ModelInfo& info,
              const ImportOptions& options) {
  const auto rows = [&](const std::string& name) -> int64_t {
    const auto found = all.shapes.find(name);
    if (found == all.shapes.end() || found->second.size() != 2) return 0;
    if (found->second[0] > kMaxRows)
      input_error("{}: tensor {} has {} rows, more than {}; the file is damaged", path, printable(all.theirs.at(name)),
                  found->second[0], kMaxRows);
    return found->second[0];
  };
  info.bottleneck = rows("bottleneck.linear.weight") > 0;
  info.feature_width = info.bottleneck ? rows("bottleneck.linear.weight") : backbone_width;
  const int64_t plain = rows("classifier.weight");
  info.classifier = plain > 0 ? ClassifierKind::kLinear : ClassifierKind::kWeightNorm;
  const int64_t classes = plain > 0 ? plain : rows("classifier.weight_v");
  if (classes > 0) name_outputs(options.classes, classes, path, info);
}

std::string unknown_network(const std::string& path, const WeightFile& weights) {
  const NetworkMatch& match = weights.match;
  const std::string way = fmt::format("save the network as TorchScript, as tributary inspect {} shows", path);
  const size_t tensors = weights.files.front().entries().size();
  constexpr double kTelling = 0.1;  // share of tensors in common that is worth a mention
  if (match.share < kTelling)
    return fmt::format("{}: its tensors ({}) match no known architecture; {}", path, tensors, way);
  return fmt::format("{}: its tensors ({}) match no known architecture; the nearest is {}, which does not have {}; {}",
                     path, tensors, match.nearest, first_few(match.unfit), way);
}

// The picture size that the positions of a transformer are for; 0 if it has none.
int64_t size_of_positions(const ShapeMap& shapes, const std::string& name) {
  const std::optional<VitPlan> plan = vit_plan(name);
  const auto found = shapes.find("backbone.encoder.pos_embedding");
  if (!plan || found == shapes.end() || found->second.size() < 2) return 0;
  const int64_t side = grid_side(found->second[found->second.size() - 2]);
  return side > 0 && side * plan->patch <= kMaxSide ? side * plan->patch : 0;
}

bool may_be_missing(const std::string& name) {
  return name.ends_with(".num_batches_tracked");  // PyTorch before 0.4 did not write it
}

}  // namespace

std::vector<std::string> read_class_names(const std::string& path) {
  std::vector<std::string> names;
  for (std::string& line : class_lines(read_text(path)))
    if (!line.empty()) names.push_back(std::move(line));
  const std::set<std::string> different(names.begin(), names.end());
  if (different.size() != names.size()) input_error("{} has duplicate class names", path);
  require_utf8(names, path);
  return names;
}

std::string describing_flag(const ImportOptions& options) {
  if (!options.architecture.empty()) return "--architecture";
  if (!options.classes.empty()) return "--classes";
  if (options.size > 0) return "--size";
  if (options.resize > 0) return "--resize";
  if (options.aspect != Aspect::kStretch) return "--aspect";
  if (options.interpolation != InterpolationChoice::kAuto) return "--interpolation";
  if (!options.mean.empty()) return "--mean";
  if (!options.deviation.empty()) return "--std";
  if (options.stride != StrideChoice::kAuto) return "--stride";
  return options.ignore_extra ? "--ignore-extra" : "";
}

void declare_network(OptionTable& table, ImportOptions& options) {
  const std::string section = "model";
  table
      .text(section, "architecture", &options.architecture,
            "network, such as resnet50, vit_s_16, convnext_tiny, swin_t, efficientnet_b0, mobilenet_v3_large, "
            "densenet121, regnet_y_400mf, or lenet and dtn for digits; by default recognised by the weights, or dtn "
            "for small pictures without weights")
      .in_full_help(fmt::format("; all names: {}", fmt::join(architecture_names(), ", ")));
  table.integer(section, "size", &options.size, 0, 4096, "side of the network's input; 0 takes the network's default")
      .metavar("PIXELS");
  table
      .integer(section, "resize", &options.resize, 0, 4096,
               "side that pictures are resized to before they are cropped; 0 takes 8/7 of --size for photographs")
      .metavar("PIXELS");
  table.choice(section, "aspect", &options.aspect, {{"stretch", Aspect::kStretch}, {"keep", Aspect::kKeep}},
               "stretch pictures to a square, or resize the shorter side and take the centre crop");
  table.choice(section, "interpolation", &options.interpolation,
               {{"auto", InterpolationChoice::kAuto},
                {"bilinear", InterpolationChoice::kBilinear},
                {"bicubic", InterpolationChoice::kBicubic}},
               "how pictures are resized; auto takes what the weights say, or the network's default");
  table.text(section, "mean", &options.mean, "mean per channel, as in 0.485,0.456,0.406").metavar("NUMBERS");
  table.text(section, "std", &options.deviation, "standard deviation per channel")
      .metavar("NUMBERS")
      .alias("deviation");
  table.choice(section, "stride", &options.stride,
               {{"auto", StrideChoice::kAuto}, {"3x3", StrideChoice::kIn3x3}, {"1x1", StrideChoice::kIn1x1}},
               "convolution of a residual block that has the stride; 1x1 for weights from Caffe or Keras");
}

void declare(OptionTable& table, ImportOptions& options) {
  declare_network(table, options);
  const std::string section = "model";
  table
      .text(section, "classes", &options.classes,
            "text file with class names, one per line, for weights that come without; \"lorry = truck\" renames a "
            "class, or merges it into another")
      .metavar("FILE");
  table.flag(section, "ignore_extra", &options.ignore_extra, "ignore tensors that the network does not have");
  table.flag(section, "trust", &options.trust, "load TorchScript files, which can run code").transient().flag_only();
  table
      .text(section, "last_layer", &options.last_layer,
            "last linear layer of a TorchScript module without the methods features and classify, as classifier.1")
      .metavar("LAYER");
}

void apply_preprocessing(const ImportOptions& options, const Architecture& network, ModelInfo& info) {
  info.preprocessing = network.preprocessing;
  if (options.size > 0) {
    info.preprocessing.size = static_cast<int>(options.size);
    const int64_t resize = options.size * network.preprocessing.resize / network.preprocessing.size;
    info.preprocessing.resize = static_cast<int>(std::min(resize, kMaxSide));
  }
  if (options.resize > 0) info.preprocessing.resize = static_cast<int>(options.resize);
  if (info.preprocessing.resize < info.preprocessing.size)
    input_error("--resize {} is smaller than --size {}; pictures are resized, then cropped", info.preprocessing.resize,
                info.preprocessing.size);
  require_preprocessing(network, info.preprocessing);
  info.preprocessing.keep_aspect = options.aspect == Aspect::kKeep;
  if (options.interpolation != InterpolationChoice::kAuto)
    info.preprocessing.bicubic = options.interpolation == InterpolationChoice::kBicubic;
  info.normalisation = network.normalisation;
  if (!options.mean.empty()) info.normalisation.mean = three_numbers(options.mean, "--mean");
  for (const double value : info.normalisation.mean)
    if (value > 1)
      input_error("--mean {}: pixels range from 0 to 1; divide a mean of 0 to 255 by 255, and --std too", options.mean);
  if (!options.deviation.empty()) info.normalisation.deviation = three_numbers(options.deviation, "--std");
  for (const double value : info.normalisation.deviation)
    if (!(value >= kSmallestDeviation))
      input_error("--std {}: every channel needs at least {:g}", options.deviation, kSmallestDeviation);
  info.first_stride = options.stride == StrideChoice::kIn1x1 ? FirstStride::kIn1x1 : FirstStride::kIn3x3;
  info.bottleneck_dropout = network.bottleneck_dropout;
}

bool is_triplet(const std::string& path) {
  return std::filesystem::is_regular_file(std::filesystem::path(path) / kTriplet[0]);
}

WeightFile read_weights(const std::string& path, const ImportOptions& given) {
  WeightFile result;
  ImportOptions options = given;
  if (is_triplet(path)) {
    for (const char* name : kTriplet)
      result.files.push_back(TensorFile::read((std::filesystem::path(path) / name).string()));
  } else {
    result.files.push_back(TensorFile::read(path));
    apply_metadata(result.files.front().metadata(), path, options);
    apply_timm_config(path, options);
  }
  Collected all = collect(result.files, nullptr);
  ModelInfo& info = result.info;
  info.architecture = options.architecture.empty() ? recognise(all.shapes) : options.architecture;
  if (!has_common_names(info.architecture)) {
    result.match = match_network(result.files.front(), info.architecture);
    info.architecture = result.match.architecture;
    if (info.architecture.empty()) throw UnknownNetwork(unknown_network(path, result));
    all = collect(result.files, &result.match);
    if (options.size == 0) options.size = size_of_positions(all.shapes, info.architecture);
  }
  info.name = name_of_source(path);
  apply_preprocessing(options, architecture(info.architecture), info);
  describe(all, path, make_backbone(info.architecture, info.first_stride, {}).width, info, options);

  std::set<std::string> used;
  for (const NamedTensor& tensor : SourceModel(info, Init()).state()) {
    const auto found = all.entries.find(tensor.name);
    result.fits.push_back(found == all.entries.end() ? nullptr : found->second);
    if (found != all.entries.end())
      used.insert(tensor.name);
    else if (!may_be_missing(tensor.name))
      result.missing.push_back(tensor.name);
  }
  for (const auto& [name, entry] : all.entries)
    if (used.count(name) == 0) result.left_over.push_back(all.theirs.at(name));
  return result;
}

Tensor tensor_of(const TensorEntry& entry, const std::string& file) {
  static const std::map<DType, torch::ScalarType> kinds = {
      {DType::F64, torch::kFloat64},   {DType::F32, torch::kFloat32}, {DType::F16, torch::kFloat16},
      {DType::BF16, torch::kBFloat16}, {DType::I64, torch::kInt64},   {DType::I32, torch::kInt32}};
  const auto kind = kinds.find(entry.dtype);
  if (kind == kinds.end())
    input_error("{}: tensor {} has dtype {}, which weights cannot have", file, printable(entry.name),
                name_of(entry.dtype));
  Tensor value = torch::empty(entry.shape, kind->second);
  if (!entry.data.empty()) std::memcpy(value.data_ptr(), entry.data.data(), entry.data.size());
  value = value.to(value.is_floating_point() ? torch::kFloat32 : torch::kInt64);
  if (!value.isfinite().all().item<bool>())
    input_error("{}: tensor {} has non-finite values; train this model again", file, printable(entry.name));
  return value;
}

void require_usable(SourceModel& source, const std::string& file) {
  for (const NamedTensor& tensor : source.state()) {
    if (tensor.name.ends_with("running_var") && tensor.value.numel() > 0 && tensor.value.min().item<double>() < 0)
      input_error("{}: tensor {} has a negative variance; the file is damaged", file, tensor.name);
    if (tensor.name.ends_with("weight_v") && !(tensor.value.flatten(1).norm(2, 1) > 0).all().item<bool>())
      input_error("{}: tensor {} has a row of zeros, which weight normalisation divides by; the file is damaged", file,
                  tensor.name);
  }
  source.set_file(file);
}

namespace {

[[noreturn]] void refuse_shape(const TensorEntry& entry, const Tensor& value, const Tensor& needed,
                               const std::string& path, const WeightFile& weights) {
  constexpr int64_t kColours = 3;
  const std::string name = printable(entry.name);
  if (value.dim() == 4 && needed.dim() == 4 && needed.size(1) == kColours && value.size(1) == 1)
    input_error(
        "{}: the first layer takes 1 channel, but pictures have 3; widen it in Python: state['{}'] = "
        "state['{}'].repeat(1, 3, 1, 1) / 3",
        path, name, name);
  input_error("{}: tensor {} has shape [{}], but {} needs [{}]; give weights of that network", path, name,
              fmt::join(value.sizes(), ", "), weights.info.architecture, fmt::join(needed.sizes(), ", "));
}

// Copies the tensors of `weights` into those of `state` whose names start with `part`. `state` is the model's state in
// the order of `weights.fits`.
void fill(const WeightFile& weights, const std::string& path, NamedTensors& state, const std::string& part) {
  for (size_t i = 0; i < state.size(); ++i) {
    if (!state[i].name.starts_with(part)) continue;
    if (weights.fits[i] == nullptr) {
      state[i].value = torch::zeros_like(state[i].value);
      continue;
    }
    const TensorEntry& entry = *weights.fits[i];
    Tensor value = tensor_of(entry, path);
    if (may_be_missing(state[i].name)) value = value.to(torch::kInt64);  // float if the whole file was converted
    if (value.scalar_type() != state[i].value.scalar_type())
      input_error("{}: tensor {} has dtype {}, but {} needs floating-point values", path, printable(entry.name),
                  name_of(entry.dtype), weights.info.architecture);
    const Tensor fitting = fitted(value, state[i].value, state[i].name);
    if (!fitting.defined()) refuse_shape(entry, value, state[i].value, path, weights);
    state[i].value = fitting;
  }
}

}  // namespace

SourceModel import_source(const std::string& path, const ImportOptions& options) {
  const WeightFile weights = read_weights(path, options);
  if (weights.info.classes.empty())
    input_error(
        "{} has no classifier (fc.weight, fc.weight_v or classifier.6.weight); give weights with a classifier, or a "
        "folder with source_F.pt, source_B.pt and source_C.pt",
        path);
  if (weights.info.classes.size() < 2) input_error("{} has one class; a classifier needs at least 2", path);
  if (!weights.missing.empty())
    input_error("{} looks like {} but has no {}; give the complete weights", path, weights.info.architecture,
                first_few(weights.missing));
  if (!weights.left_over.empty() && !options.ignore_extra)
    input_error("{} looks like {} but also has {}; if these tensors do not matter, add --ignore-extra", path,
                weights.info.architecture, first_few(weights.left_over));
  SourceModel source(weights.info, Init());
  NamedTensors state = source.state();
  fill(weights, path, state, "");
  source.restore(state);
  require_usable(source, path);
  return source;
}

void import_backbone(const WeightFile& weights, const std::string& path, SourceModel& model) {
  TRIBUTARY_CHECK(weights.info.architecture == model.info().architecture, "weights of {} given for {}",
                  weights.info.architecture, model.info().architecture);
  for (const std::string& name : weights.missing)
    if (name.starts_with("backbone."))
      input_error("{} looks like {} but has no {}; give the complete weights", path, weights.info.architecture, name);
  SourceModel theirs(weights.info, Init());
  NamedTensors state = theirs.state();
  fill(weights, path, state, "backbone.");
  NamedTensors mine = model.state();
  for (size_t i = 0; i < mine.size() && mine[i].name.starts_with("backbone."); ++i) mine[i].value = state[i].value;
  model.restore(mine);
  require_usable(model, path);
  model.set_file({});  // the rest of the model is not from that file
}

SourceModel import_script(const std::string& path, const ImportOptions& options) {
  if (!options.trust) input_error("{} is TorchScript, which is code; add --trust if you trust its author", path);
  ModelInfo info;
  info.name = name_of_source(path);
  info.architecture = kTorchScript;
  info.bottleneck = false;
  info.classifier = ClassifierKind::kLinear;
  info.last_layer = options.last_layer;
  apply_preprocessing(options, architecture(kTorchScript), info);
  const std::vector<uint8_t> bytes = read_file(path);
  auto body = std::make_unique<ScriptedSource>(std::string(bytes.begin(), bytes.end()), path, options.last_layer,
                                               info.preprocessing.size);
  info.feature_width = body->feature_width();
  name_outputs(options.classes, body->classes(), path, info);
  SourceModel source(info, std::move(body));
  source.set_file(path);
  return source;
}

}  // namespace tributary
