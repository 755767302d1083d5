#include "tributary/model_io/class_order.h"

#include <algorithm>
#include <string_view>
#include <unordered_set>

#include "tributary/base/class_names.h"
#include "tributary/base/error.h"
#include "tributary/base/text.h"

namespace tributary {
namespace {

bool have_none_in_common(const std::vector<std::string>& a, const std::vector<std::string>& b) {
  const std::unordered_set<std::string_view> known(b.begin(), b.end());
  return std::none_of(a.begin(), a.end(), [&](const std::string& name) { return known.contains(name); });
}

[[noreturn]] void refuse(const std::vector<std::string>& other, const std::string& other_file,
                         const std::vector<std::string>& first, const std::string& first_file) {
  const bool other_unnamed = are_numbered(other);
  if (other_unnamed != are_numbered(first) && have_none_in_common(other, first)) {
    const std::string& unnamed = other_unnamed ? other_file : first_file;
    input_error(
        "the classes of {} are only numbered, those of {} have names; give a list of names with {}:classes=FILE",
        unnamed, other_unnamed ? first_file : other_file, unnamed);
  }
  input_error("{} and {} have no class in common; rename classes with --classes", first_file, other_file);
}

// Reorders the rows of the classifier and checks the result on random features.
void reorder(SourceModel& source, const std::vector<int64_t>& order, const std::string& file) {
  const torch::NoGradGuard no_gradients;
  const auto classes = static_cast<int64_t>(order.size());
  const Tensor rows = torch::tensor(order, torch::kInt64).to(source.device());
  const Tensor phi = torch::linspace(-1, 1, 3 * source.info().feature_width).view({3, -1}).to(source.device());
  const Tensor expected = source.classify(phi).index_select(1, rows);
  NamedTensors state = source.state();
  for (NamedTensor& tensor : state)
    if (tensor.name.starts_with("classifier.") && tensor.value.dim() > 0 && tensor.value.size(0) == classes)
      tensor.value = tensor.value.index_select(0, rows);
  source.restore(state);
  if (auto calibration = source.info().calibration) {
    const std::vector<double> shares = calibration->class_share;
    for (size_t k = 0; k < order.size(); ++k) calibration->class_share[k] = shares[static_cast<size_t>(order[k])];
    source.set_calibration(calibration);
  }
  if (!torch::allclose(source.classify(phi), expected, 1e-4, 1e-5))
    input_error(
        "{}: its classes have another order, and its 'classify' is not one linear layer whose rows could be "
        "reordered; save it with the classes in the order of the first source",
        file);
}

}  // namespace

std::vector<int64_t> class_order(const std::vector<std::string>& theirs, const std::vector<std::string>& ours) {
  std::vector<int64_t> order = class_indices(ours, theirs);
  if (theirs.size() != ours.size() || std::count(order.begin(), order.end(), -1) > 0) order.clear();
  return order;
}

namespace {

bool know_the_same(const std::vector<SourceModel>& sources) {
  const std::vector<std::string>& first = sources.front().info().classes;
  return std::all_of(sources.begin(), sources.end(), [&](const SourceModel& source) {
    return !source.known().defined() && !class_order(source.info().classes, first).empty();
  });
}

// The union of lists of classes, in the order of first appearance.
struct Union {
  std::vector<std::string> all;
  std::vector<std::vector<int64_t>> places;  // of the classes of every list in `all`
};

Union united(const std::vector<std::vector<std::string>>& lists) {
  Union result{lists.front(), {}};
  for (const std::vector<std::string>& own : lists) {
    std::vector<int64_t> place = class_indices(own, result.all);
    for (size_t k = 0; k < own.size(); ++k) {
      if (place[k] >= 0) continue;
      place[k] = static_cast<int64_t>(result.all.size());
      result.all.push_back(own[k]);
    }
    result.places.push_back(std::move(place));
  }
  return result;
}

// Throws an InputError that names two files if the lists do not link each other.
void require_linked(const Union& all, const std::vector<std::vector<std::string>>& lists,
                    const std::vector<std::string>& files) {
  const Tensor known =
      torch::zeros({static_cast<int64_t>(lists.size()), static_cast<int64_t>(all.all.size())}, torch::kBool);
  for (size_t j = 0; j < lists.size(); ++j)
    for (const int64_t k : all.places[j]) known[static_cast<int64_t>(j)][k] = true;
  if (const int64_t j = first_unlinked(known); j >= 0)
    refuse(lists[static_cast<size_t>(j)], files[static_cast<size_t>(j)], lists[0], files[0]);
}

void map_outputs(std::vector<int64_t>& outputs, const std::vector<int64_t>& place) {
  for (int64_t& output : outputs) output = place[static_cast<size_t>(output)];
}

// Gives every source the union of all classes.
void unite(std::vector<SourceModel>& sources, const Union& all) {
  for (size_t j = 0; j < sources.size(); ++j) {
    std::vector<int64_t> outputs = sources[j].outputs();
    map_outputs(outputs, all.places[j]);
    sources[j].set_classes(all.all, std::move(outputs));
  }
}

std::vector<std::vector<std::string>> classes_of(const std::vector<SourceModel>& sources) {
  std::vector<std::vector<std::string>> lists;
  for (const SourceModel& source : sources) lists.push_back(source.info().classes);
  return lists;
}

}  // namespace

std::vector<size_t> align_classes(Ensemble& ensemble, const std::vector<std::string>& files) {
  if (ensemble.fixed.empty()) return align_classes(ensemble.sources, files);
  std::vector<std::vector<std::string>> lists = classes_of(ensemble.sources);
  for (const FixedSource& source : ensemble.fixed) lists.push_back(source.classes);
  const Union all = united(lists);
  require_linked(all, lists, files);
  std::vector<size_t> reordered;
  const size_t models = ensemble.sources.size();
  if (models > 0 && !know_the_same(ensemble.sources)) {
    unite(ensemble.sources, all);
  } else if (models > 0) {
    reordered = align_classes(ensemble.sources, files);
    if (all.all.size() > lists.front().size())
      for (SourceModel& source : ensemble.sources) source.set_classes(all.all, source.outputs());
  }
  for (size_t j = 0; j < ensemble.fixed.size(); ++j) {
    FixedSource& source = ensemble.fixed[j];
    map_outputs(source.outputs, all.places[models + j]);
    source.known = OutputMap(source.outputs, static_cast<int64_t>(all.all.size())).known();
    source.classes = all.all;
  }
  return reordered;
}

std::vector<size_t> align_classes(std::vector<SourceModel>& sources, const std::vector<std::string>& files) {
  std::vector<size_t> reordered;
  if (!know_the_same(sources)) {
    const std::vector<std::vector<std::string>> lists = classes_of(sources);
    const Union all = united(lists);
    require_linked(all, lists, files);
    unite(sources, all);
    return reordered;
  }
  const ModelInfo& first = sources.front().info();
  for (size_t j = 1; j < sources.size(); ++j) {
    const ModelInfo& other = sources[j].info();
    if (other.classes == first.classes) continue;
    const std::vector<int64_t> order = class_order(other.classes, first.classes);
    if (std::is_sorted(order.begin(), order.end())) {
      sources[j].rename_classes(first.classes);
      continue;
    }
    reordered.push_back(j);
    if (sources[j].output_map().empty()) {
      reorder(sources[j], order, files[j]);
      sources[j].rename_classes(first.classes);
      continue;
    }
    std::vector<int64_t> place(order.size()), outputs = other.outputs;  // merged classes: no row is one class
    for (size_t k = 0; k < order.size(); ++k) place[static_cast<size_t>(order[k])] = static_cast<int64_t>(k);
    for (int64_t& output : outputs) output = place[static_cast<size_t>(output)];
    sources[j].set_classes(first.classes, std::move(outputs));
  }
  return reordered;
}

}  // namespace tributary
