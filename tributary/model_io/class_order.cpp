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

[[noreturn]] void refuse(const ModelInfo& other, const std::string& other_file, const ModelInfo& first,
                         const std::string& first_file) {
  const bool other_unnamed = are_numbered(other.classes);
  if (other_unnamed != are_numbered(first.classes) && have_none_in_common(other.classes, first.classes)) {
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

// Gives every source the union of all classes.
void unite(std::vector<SourceModel>& sources, const std::vector<std::string>& files) {
  std::vector<std::string> all = sources.front().info().classes;
  std::vector<std::vector<int64_t>> places;  // of the classes of every source in `all`
  for (const SourceModel& source : sources) {
    const std::vector<std::string>& own = source.info().classes;
    std::vector<int64_t> place = class_indices(own, all);
    for (size_t k = 0; k < own.size(); ++k) {
      if (place[k] >= 0) continue;
      place[k] = static_cast<int64_t>(all.size());
      all.push_back(own[k]);
    }
    places.push_back(std::move(place));
  }
  const Tensor known =
      torch::zeros({static_cast<int64_t>(sources.size()), static_cast<int64_t>(all.size())}, torch::kBool);
  for (size_t j = 0; j < places.size(); ++j)
    for (const int64_t k : places[j]) known[static_cast<int64_t>(j)][k] = true;
  if (const int64_t j = first_unlinked(known); j >= 0)
    refuse(sources[static_cast<size_t>(j)].info(), files[static_cast<size_t>(j)], sources[0].info(), files[0]);
  for (size_t j = 0; j < sources.size(); ++j) {
    std::vector<int64_t> outputs = sources[j].outputs();
    for (int64_t& output : outputs) output = places[j][static_cast<size_t>(output)];
    sources[j].set_classes(all, std::move(outputs));
  }
}

}  // namespace

std::vector<size_t> align_classes(std::vector<SourceModel>& sources, const std::vector<std::string>& files) {
  std::vector<size_t> reordered;
  if (!know_the_same(sources)) {
    unite(sources, files);
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
