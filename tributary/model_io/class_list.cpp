#include "tributary/model_io/class_list.h"

#include <fmt/ranges.h>

#include <string_view>
#include <unordered_map>

#include "tributary/base/class_names.h"
#include "tributary/base/error.h"
#include "tributary/base/files.h"
#include "tributary/base/text.h"
#include "tributary/model/source_model.h"

namespace tributary {
namespace {

constexpr std::string_view kRename = " = ";

// The names without repetitions, in the order of their first appearance, and the index of each in that list.
struct Merged {
  std::vector<std::string> names;
  std::vector<int64_t> index;
};

Merged merged(const std::vector<std::string>& all) {
  Merged result;
  std::unordered_map<std::string_view, int64_t> places;
  for (const std::string& name : all) {
    const auto [place, added] = places.try_emplace(name, static_cast<int64_t>(result.names.size()));
    result.index.push_back(place->second);
    if (added) result.names.push_back(name);
  }
  return result;
}

void require_two(const Merged& result, const std::string& path, const std::string& file) {
  if (result.names.size() < 2) input_error("{} leaves {} a single class; a classifier needs at least 2", path, file);
}

}  // namespace

ClassList read_class_list(const std::string& path) {
  ClassList list;
  int64_t number = 0;
  for (const std::string& line : class_lines(read_text(path))) {
    ++number;
    if (line.empty()) continue;
    const std::string padded = " " + line + " ";  // so that a missing name is found
    const size_t equals = padded.find(kRename);
    list.only_renames = list.only_renames && equals != std::string::npos;
    list.names.push_back(equals == std::string::npos ? line : std::string(trimmed(padded.substr(0, equals))));
    list.new_names.push_back(
        equals == std::string::npos ? line : std::string(trimmed(padded.substr(equals + kRename.size()))));
    if (list.names.back().empty() || list.new_names.back().empty())
      input_error("{}, line {}: a name is missing beside '='; write OLD = NEW", path, number);
  }
  require_utf8(list.names, path);
  require_utf8(list.new_names, path);
  if (merged(list.names).names.size() != list.names.size())
    input_error("{} has duplicate class names; write OLD = NEW to merge a class into another", path);
  return list;
}

void name_outputs(const std::string& path, int64_t count, const std::string& file, ModelInfo& info) {
  info.outputs.clear();
  info.classes.clear();
  if (path.empty()) {
    for (int64_t k = 0; k < count; ++k) info.classes.push_back(std::to_string(k));
    return;
  }
  const ClassList list = read_class_list(path);
  if (static_cast<int64_t>(list.names.size()) != count)
    input_error("{} has {} class name{} but {} has {} classes; write one name per line, in the order of the outputs",
                path, list.names.size(), list.names.size() == 1 ? "" : "s", file, count);
  Merged result = merged(list.new_names);
  require_two(result, path, file);
  if (result.names.size() < list.names.size()) info.outputs = std::move(result.index);
  info.classes = std::move(result.names);
}

std::vector<bool> rename_classes(std::vector<std::string>& classes, std::vector<int64_t>& outputs,
                                 const std::string& path, const std::string& file, bool optional) {
  const ClassList list = read_class_list(path);
  if (!list.only_renames)
    input_error("{} has names of its own for its classes; write OLD = NEW in {} to rename them", file, path);
  const std::vector<std::string> before = classes;
  const std::vector<int64_t> index = class_indices(list.names, before);
  std::vector<std::string> after = before;
  const std::vector<int64_t> target = class_indices(list.new_names, before);
  std::vector<bool> found;
  for (size_t i = 0; i < index.size(); ++i) {
    if (index[i] < 0 && !optional)
      input_error("{} renames the class '{}', which {} does not have; its classes are {}", path,
                  printable(list.names[i]), file, printable(fmt::format("{}", fmt::join(before, ", ")), 200));
    found.push_back(index[i] >= 0);
    if (index[i] >= 0)
      after[static_cast<size_t>(index[i])] =
          target[i] >= 0 ? before[static_cast<size_t>(target[i])] : list.new_names[i];
  }
  const Merged result = merged(after);
  require_two(result, path, file);
  for (int64_t& output : outputs) output = result.index[static_cast<size_t>(output)];
  classes = result.names;
  return found;
}

std::vector<bool> rename_classes(SourceModel& source, const std::string& path, const std::string& file, bool optional) {
  std::vector<std::string> classes = source.info().classes;
  std::vector<int64_t> outputs = source.outputs();
  std::vector<bool> found = rename_classes(classes, outputs, path, file, optional);
  source.set_classes(std::move(classes), std::move(outputs));
  return found;
}

}  // namespace tributary
