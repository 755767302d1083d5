#include "tributary/model_io/class_order.h"

#include <algorithm>

#include "tributary/base/class_names.h"
#include "tributary/base/error.h"
#include "tributary/base/text.h"

namespace tributary {
namespace {

// The first of `names` that `others` lacks.
std::string first_missing(const std::vector<std::string>& names, const std::vector<std::string>& others) {
  const std::vector<int64_t> found = class_indices(names, others);
  const auto missing = std::find(found.begin(), found.end(), -1);
  return missing == found.end() ? std::string() : names[static_cast<size_t>(missing - found.begin())];
}

bool have_none_in_common(const std::vector<std::string>& a, const std::vector<std::string>& b) {
  return std::none_of(a.begin(), a.end(), [&](const auto& name) { return std::count(b.begin(), b.end(), name) > 0; });
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
  input_error("{} has the class '{}', {} has '{}' instead; all sources must share one set of classes", other_file,
              printable(first_missing(other.classes, first.classes)), first_file,
              printable(first_missing(first.classes, other.classes)));
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

std::vector<size_t> align_classes(std::vector<SourceModel>& sources, const std::vector<std::string>& files) {
  std::vector<size_t> reordered;
  const ModelInfo& first = sources.front().info();
  for (size_t j = 1; j < sources.size(); ++j) {
    const ModelInfo& other = sources[j].info();
    if (other.classes == first.classes) continue;
    if (other.classes.size() != first.classes.size())
      input_error("{} has {} classes but {} has {}; all sources must share one set of classes", files[j],
                  other.classes.size(), files[0], first.classes.size());
    const std::vector<int64_t> order = class_order(other.classes, first.classes);
    if (order.empty()) refuse(other, files[j], first, files[0]);
    if (!std::is_sorted(order.begin(), order.end())) {
      reorder(sources[j], order, files[j]);
      reordered.push_back(j);
    }
    sources[j].rename_classes(first.classes);
  }
  return reordered;
}

}  // namespace tributary
