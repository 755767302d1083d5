#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "tributary/base/class_names.h"
#include "tributary/base/error.h"
#include "tributary/base/text.h"
#include "tributary/model_io/class_list.h"
#include "tributary/model_io/class_order.h"
#include "tributary/model_io/model_file.h"
#include "tributary/model_io/source_spec.h"
#include "tributary/model_io/timm_config.h"

namespace tributary {
namespace {

SourceModel load(const SourceSpec& spec, bool& imported) {
  SourceModel source = load_source(spec.path, spec.options, &imported);
  if (!imported && !spec.describing.empty())
    input_error("{} is a Tributary model, which holds its own {}; only weights of other programs take that option",
                spec.path, spec.describing);
  if (!imported && spec.own_classes) rename_classes(source, spec.options.classes, spec.path, /*optional=*/false);
  if (!spec.name.empty()) source.rename(spec.name);
  return source;
}

// Renames for several sources: each has those of its own classes. Every name must be one of some source.
class CommonRenames {
 public:
  explicit CommonRenames(const std::string& path) : path_(path) {
    if (path.empty()) return;
    const ClassList list = read_class_list(path);
    if (list.only_renames) names_ = list.names;
    found_.resize(names_.size());
  }
  bool any() const { return !names_.empty(); }
  void apply(SourceModel& source, const std::string& file) {
    found(rename_classes(source, path_, file, /*optional=*/true));
  }
  void apply(FixedSource& source, const std::string& file) {
    found(rename_classes(source.classes, source.outputs, path_, file, /*optional=*/true));
  }
  void require_found() const {
    for (size_t i = 0; i < names_.size(); ++i)
      if (!found_[i]) input_error("{} renames the class '{}', which no source has", path_, printable(names_[i]));
  }

 private:
  void found(const std::vector<bool>& own) {
    for (size_t i = 0; i < own.size(); ++i) found_[i] = found_[i] || own[i];
  }

  std::string path_;
  std::vector<std::string> names_;
  std::vector<bool> found_;
};

// Reads the scores of a source. `named` tells whether the file names its classes.
FixedSource load_scores(const SourceSpec& spec, bool& named) {
  if (!spec.describing.empty())
    input_error("{} holds scores of pictures, so it takes no {}; leave that out", spec.path, spec.describing);
  FixedSource source;
  source.scores = read_score_file(spec.path);
  source.kind = kind_of(source.scores, spec.scores);
  source.name = spec.name.empty() ? utf8_text(std::filesystem::path(spec.path).stem().string()) : spec.name;
  named = !source.scores.classes.empty();
  if (named) {
    source.classes = source.scores.classes;
    for (int64_t k = 0; k < source.scores.columns; ++k) source.outputs.push_back(k);
    if (spec.own_classes)
      rename_classes(source.classes, source.outputs, spec.options.classes, spec.path, /*optional=*/false);
    return source;
  }
  ModelInfo info;
  name_outputs(spec.options.classes, source.scores.columns, spec.path, info);
  source.classes = info.classes;
  source.outputs = info.outputs;
  for (int64_t k = 0; info.outputs.empty() && k < source.scores.columns; ++k) source.outputs.push_back(k);
  return source;
}

// Numbers in place of names say nothing about which classes sources of different size have in common.
void require_names(const Ensemble& ensemble, const std::vector<std::string>& files,
                   const std::vector<std::string>& unnamed) {
  std::vector<std::vector<std::string>> classes;
  for (const SourceModel& source : ensemble.sources) classes.push_back(source.info().classes);
  for (const FixedSource& source : ensemble.fixed) classes.push_back(source.classes);
  for (size_t j = 0; j < classes.size(); ++j) {
    if (std::find(unnamed.begin(), unnamed.end(), files[j]) == unnamed.end()) continue;
    for (size_t l = 0; l < classes.size(); ++l)
      if (are_numbered(classes[l]) && classes[l].size() != classes[j].size())
        input_error("{} has {} classes without names but {} has {}; give lists of names with FILE:classes=LIST",
                    files[j], classes[j].size(), files[l], classes[l].size());
  }
}

const std::vector<std::string>& all_classes(const Ensemble& ensemble) {
  return ensemble.sources.empty() ? ensemble.fixed.front().classes : ensemble.classes();
}

// What the sources do not know of the classes of all.
std::string differences(const Ensemble& ensemble, const std::vector<std::string>& files) {
  constexpr size_t kShown = 5;
  std::vector<std::string> parts;
  std::vector<Tensor> all;
  for (const SourceModel& source : ensemble.sources) all.push_back(source.known());
  for (const FixedSource& source : ensemble.fixed) all.push_back(source.known);
  for (size_t j = 0; j < files.size(); ++j) {
    const Tensor& known = all[j];
    std::vector<std::string> lacking;
    for (int64_t k = 0; known.defined() && k < known.size(0); ++k)
      if (!known[k].item<bool>()) lacking.push_back(printable(all_classes(ensemble)[static_cast<size_t>(k)]));
    const size_t count = lacking.size();
    lacking.resize(std::min(count, kShown));
    if (count > 0)
      parts.push_back(fmt::format("{} lacks {}{}", files[j], fmt::join(lacking, ", "),
                                  count > kShown ? fmt::format(" and {} more", count - kShown) : ""));
  }
  return parts.empty() ? std::string()
                       : fmt::format("the sources know different classes, and the result all {} of them: {}",
                                     all_classes(ensemble).size(), fmt::join(parts, "; "));
}

// Names are columns of predictions and rows of tables.
void require_distinct_names(const Ensemble& ensemble, const std::vector<std::string>& files) {
  std::map<std::string, std::string> file_of;
  std::vector<std::string> names;
  for (const SourceModel& source : ensemble.sources) names.push_back(source.info().name);
  for (const FixedSource& source : ensemble.fixed) names.push_back(source.name);
  for (size_t j = 0; j < names.size(); ++j)
    if (const auto [other, is_new] = file_of.emplace(names[j], files[j]); !is_new)
      input_error("{} and {} are both called '{}'; give one another name, as in {}:name=other", other->second, files[j],
                  printable(other->first), files[j]);
}

// The preprocessing of weights that come without.
std::string guess_of(const ModelInfo& info) {
  const Preprocessing& pictures = info.preprocessing;
  return fmt::format("{0}x{0} pixels{1}, mean {2:g} and std {3:g}", pictures.size,
                     pictures.resize > pictures.size ? fmt::format(" out of {0}x{0}", pictures.resize) : "",
                     fmt::join(info.normalisation.mean, ","), fmt::join(info.normalisation.deviation, ","));
}

// Where the order of classes rests on an assumption: sources without names, or one list for several of them.
std::string assumption(const std::vector<std::string>& unnamed, const std::vector<std::string>& listed,
                       const std::string& list, size_t count) {
  if (count < 2) return {};
  if (!unnamed.empty())
    return fmt::format(
        "the classes of {} have no names, so all sources are assumed to have them in one order; give lists of names "
        "with "
        "FILE:classes=LIST",
        fmt::join(unnamed, ", "));
  if (listed.size() < 2) return {};
  return fmt::format(
      "{} are assumed to have their classes in the order of {}; give a source with another order its own list with "
      "FILE:classes=LIST",
      fmt::join(listed, ", "), list);
}

// Throws an InputError if --last-layer is given, but none of the sources is TorchScript.
void require_script(const ImportOptions& options, const std::vector<SourceModel>& sources, const std::string& file) {
  const auto is_script = [](const SourceModel& source) { return source.layered() == nullptr; };
  if (!options.last_layer.empty() && std::none_of(sources.begin(), sources.end(), is_script))
    input_error("--last-layer {}: only TorchScript needs it, and {} is not TorchScript; leave it out",
                printable(options.last_layer), file);
}

}  // namespace

void refuse_description(const ImportOptions& options, const std::string& path) {
  if (const std::string flag = describing_flag(options); !flag.empty())
    input_error(
        "{} describes weights of other programs, but {} is a Tributary model, which holds its own; leave it out", flag,
        path);
}

namespace {

// Whether the models alone can be deployed: together they know all classes, on a common scale.
bool know_all_classes(const Ensemble& ensemble) {
  std::vector<Tensor> rows;
  for (const SourceModel& source : ensemble.sources)
    rows.push_back(source.known().defined()
                       ? source.known().cpu()
                       : torch::ones({static_cast<int64_t>(ensemble.classes().size())}, torch::kBool));
  return are_linked(at::stack(rows));
}

void add_student(Ensemble& ensemble, const StudentOptions& student, const ImportOptions& options,
                 std::vector<std::string>* notices) {
  const bool alone = ensemble.sources.empty();
  if (!alone && student.init.empty() && student.network.empty() && know_all_classes(ensemble)) return;
  SourceModel source =
      make_student(student, options, alone ? nullptr : &ensemble.sources.front(), all_classes(ensemble));
  for (const std::string& name : ensemble.member_names())
    if (name == source.info().name) source.rename(name + " of all");
  if (notices)
    notices->push_back(fmt::format("a student ({}, {}) learns from the scores and joins the result",
                                   source.info().architecture,
                                   student.init.empty() ? "random weights" : "weights of " + student.init));
  ensemble.sources.push_back(std::move(source));
  ensemble.has_student = true;
}

// `student` is null where score files are refused.
Ensemble load_all(const std::vector<std::string>& sources, const ImportOptions& options,
                  std::vector<std::string>* notices, const StudentOptions* student) {
  Ensemble ensemble;
  std::vector<std::string> files, score_files, unnamed, listed, unordered;
  std::map<std::string, std::vector<std::string>> guessed;  // files by what is assumed about them
  bool any_imported = false, any_unnamed_scores = false;
  CommonRenames renames(options.classes);
  for (const std::string& text : sources) {
    const SourceSpec spec = parse_source(text, options);
    if (is_score_file(spec.path)) {
      if (!student) input_error("{} holds scores of pictures, not a model; only tributary adapt takes it", spec.path);
      bool named = false;
      ensemble.fixed.push_back(load_scores(spec, named));
      score_files.push_back(spec.path);
      FixedSource& source = ensemble.fixed.back();
      if (named && !spec.own_classes && renames.any()) renames.apply(source, spec.path);
      if (!named && !spec.own_classes) (spec.options.classes.empty() ? unnamed : listed).push_back(spec.path);
      any_unnamed_scores = any_unnamed_scores || !named;
      if (source.scores.pictures.empty()) unordered.push_back(spec.path);
      continue;
    }
    bool imported = false;
    ensemble.sources.push_back(load(spec, imported));
    files.push_back(spec.path);
    any_imported = any_imported || imported;
    if (!imported && !spec.own_classes && renames.any()) renames.apply(ensemble.sources.back(), spec.path);
    const ModelInfo& info = ensemble.sources.back().info();
    if (imported && info.architecture != kTorchScript && !knows_preprocessing(spec.path, spec.options))
      guessed[guess_of(info)].push_back(spec.path);
    if (imported && !spec.own_classes) (spec.options.classes.empty() ? unnamed : listed).push_back(spec.path);
  }
  const std::vector<std::string> models = files;
  files.insert(files.end(), score_files.begin(), score_files.end());
  if (!any_imported) {
    ImportOptions others = options;
    if (renames.any() || any_unnamed_scores) others.classes.clear();
    if (!models.empty()) refuse_description(others, models.front());  // else they describe the student
    if (!any_unnamed_scores) renames.require_found();
  }
  require_names(ensemble, files, unnamed);
  require_script(options, ensemble.sources, files.front());
  const std::vector<size_t> reordered = align_classes(ensemble, files);
  if (!models.empty()) require_compatible(ensemble.sources, models);
  require_distinct_names(ensemble, files);
  std::vector<std::string> told;
  for (const auto& [guess, paths] : guessed)
    told.push_back(fmt::format(
        "{} {} not say how pictures are prepared; assumed {}; correct that with --size, --mean and --std, or "
        "put timm's config.json beside the weights",
        fmt::join(paths, ", "), paths.size() == 1 ? "does" : "do", guess));
  for (const size_t j : reordered)
    told.push_back(fmt::format("reordered the classes of {} as in {}", files[j], files.front()));
  if (!unordered.empty())
    told.push_back(fmt::format("{} {} no pictures; the rows are taken in the order of the target pictures",
                               fmt::join(unordered, ", "), unordered.size() == 1 ? "names" : "name"));
  if (const std::string text = differences(ensemble, files); !text.empty()) told.push_back(text);
  if (const std::string text = assumption(unnamed, listed, options.classes, sources.size()); !text.empty())
    told.push_back(text);
  if (notices) notices->insert(notices->end(), told.begin(), told.end());
  if (!ensemble.fixed.empty()) add_student(ensemble, *student, options, notices);
  return ensemble;
}

}  // namespace

Ensemble load_sources(const std::vector<std::string>& sources, const ImportOptions& options,
                      std::vector<std::string>* notices) {
  return load_all(sources, options, notices, /*student=*/nullptr);
}

Ensemble load_members(const std::vector<std::string>& sources, const StudentOptions& student,
                      const ImportOptions& options, std::vector<std::string>* notices) {
  Ensemble ensemble = load_all(sources, options, notices, &student);
  if (ensemble.fixed.empty() && !(student.init.empty() && student.network.empty()))
    input_error("{} is for a student of score files, but all sources are models; leave it out",
                student.init.empty() ? "--student " + student.network : "--init " + student.init);
  return ensemble;
}

}  // namespace tributary
