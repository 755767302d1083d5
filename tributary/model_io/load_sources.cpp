#include <fmt/ranges.h>

#include <algorithm>
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
    const std::vector<bool> own = rename_classes(source, path_, file, /*optional=*/true);
    for (size_t i = 0; i < own.size(); ++i) found_[i] = found_[i] || own[i];
  }
  void require_found() const {
    for (size_t i = 0; i < names_.size(); ++i)
      if (!found_[i]) input_error("{} renames the class '{}', which no source has", path_, printable(names_[i]));
  }

 private:
  std::string path_;
  std::vector<std::string> names_;
  std::vector<bool> found_;
};

// Numbers in place of names say nothing about which classes sources of different size have in common.
void require_names(const std::vector<SourceModel>& sources, const std::vector<std::string>& files,
                   const std::vector<std::string>& unnamed) {
  for (size_t j = 0; j < sources.size(); ++j) {
    if (std::find(unnamed.begin(), unnamed.end(), files[j]) == unnamed.end()) continue;
    for (size_t l = 0; l < sources.size(); ++l)
      if (are_numbered(sources[l].info().classes) &&
          sources[l].info().classes.size() != sources[j].info().classes.size())
        input_error("{} has {} classes without names but {} has {}; give lists of names with FILE:classes=LIST",
                    files[j], sources[j].info().classes.size(), files[l], sources[l].info().classes.size());
  }
}

// What the sources do not know of the classes of all.
std::string differences(const Ensemble& ensemble, const std::vector<std::string>& files) {
  constexpr size_t kShown = 5;
  std::vector<std::string> parts;
  for (size_t j = 0; j < files.size(); ++j) {
    const Tensor& known = ensemble.sources[j].known();
    std::vector<std::string> lacking;
    for (int64_t k = 0; known.defined() && k < known.size(0); ++k)
      if (!known[k].item<bool>()) lacking.push_back(printable(ensemble.classes()[static_cast<size_t>(k)]));
    const size_t count = lacking.size();
    lacking.resize(std::min(count, kShown));
    if (count > 0)
      parts.push_back(fmt::format("{} lacks {}{}", files[j], fmt::join(lacking, ", "),
                                  count > kShown ? fmt::format(" and {} more", count - kShown) : ""));
  }
  return parts.empty() ? std::string()
                       : fmt::format("the sources know different classes, and the result all {} of them: {}",
                                     ensemble.classes().size(), fmt::join(parts, "; "));
}

// Names are columns of predictions and rows of tables.
void require_distinct_names(const std::vector<SourceModel>& sources, const std::vector<std::string>& files) {
  std::map<std::string, std::string> file_of;
  for (size_t j = 0; j < sources.size(); ++j)
    if (const auto [other, is_new] = file_of.emplace(sources[j].info().name, files[j]); !is_new)
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

Ensemble load_sources(const std::vector<std::string>& sources, const ImportOptions& options,
                      std::vector<std::string>* notices) {
  Ensemble ensemble;
  std::vector<std::string> files, unnamed, listed;
  std::map<std::string, std::vector<std::string>> guessed;  // files by what is assumed about them
  bool any_imported = false;
  CommonRenames renames(options.classes);
  for (const std::string& text : sources) {
    const SourceSpec spec = parse_source(text, options);
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
  if (!any_imported) {
    ImportOptions others = options;
    if (renames.any()) others.classes.clear();
    refuse_description(others, files.front());
    renames.require_found();
  }
  require_names(ensemble.sources, files, unnamed);
  require_script(options, ensemble.sources, files.front());
  const std::vector<size_t> reordered = align_classes(ensemble.sources, files);
  require_compatible(ensemble.sources, files);
  require_distinct_names(ensemble.sources, files);
  if (notices == nullptr) return ensemble;
  for (const auto& [guess, paths] : guessed)
    notices->push_back(fmt::format(
        "{} {} not say how pictures are prepared; assumed {}; correct that with --size, --mean and --std, or "
        "put timm's config.json beside the weights",
        fmt::join(paths, ", "), paths.size() == 1 ? "does" : "do", guess));
  for (const size_t j : reordered)
    notices->push_back(fmt::format("reordered the classes of {} as in {}", files[j], files.front()));
  if (const std::string text = differences(ensemble, files); !text.empty()) notices->push_back(text);
  if (const std::string text = assumption(unnamed, listed, options.classes, sources.size()); !text.empty())
    notices->push_back(text);
  return ensemble;
}

}  // namespace tributary
