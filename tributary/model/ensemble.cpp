#include "tributary/model/ensemble.h"

#include <algorithm>
#include <utility>

#include "tributary/base/error.h"

namespace tributary {

void FixedSource::match_pictures(const std::vector<std::string>& names, const std::string& target) {
  const std::vector<int64_t> rows = rows_of(scores, names, target);
  std::vector<float> values = logits_of(scores, kind);
  const Tensor all = torch::from_blob(values.data(), {scores.rows, scores.columns}, torch::kFloat32);
  const OutputMap map(outputs, static_cast<int64_t>(classes.size()));
  logits = map.apply(all.index_select(0, torch::tensor(rows, torch::kInt64)));
}

int64_t Ensemble::joint_width() const {
  int64_t width = 0;
  for (const SourceModel& source : sources) width += source.info().feature_width;
  return width;
}

namespace {

// bool [m, K], undefined if all know all. Each element is bool [K], or undefined.
Tensor joined_known(const std::vector<Tensor>& known, size_t classes) {
  if (std::none_of(known.begin(), known.end(), [](const Tensor& own) { return own.defined(); })) return {};
  std::vector<Tensor> rows;
  for (const Tensor& own : known)
    rows.push_back(own.defined() ? own.cpu() : torch::ones({static_cast<int64_t>(classes)}, torch::kBool));
  return at::stack(rows);
}

std::vector<Tensor> known_of(const std::vector<SourceModel>& sources) {
  std::vector<Tensor> known;
  for (const SourceModel& source : sources) known.push_back(source.known());
  return known;
}

}  // namespace

std::vector<std::string> Ensemble::member_names() const {
  std::vector<std::string> names;
  for (const SourceModel& source : sources) names.push_back(source.info().name);
  for (const FixedSource& source : fixed) names.push_back(source.name + " (scores)");
  return names;
}

Tensor Ensemble::known() const {
  std::vector<Tensor> all = known_of(sources);
  for (const FixedSource& source : fixed) all.push_back(source.known);
  return joined_known(all, classes().size());
}

Tensor Ensemble::stacked(const std::vector<Tensor>& logits) const {
  return complete_logits(at::stack(logits), joined_known(known_of(sources), classes().size()));
}

Tensor Ensemble::with_fixed(std::vector<Tensor> logits, const RowBlock& rows) const {
  const bool without = static_cast<int64_t>(logits.size()) < size();
  for (const FixedSource& source : fixed) logits.push_back(source.own_rows ? source.logits : rows.own(source.logits));
  return complete_logits(at::stack(logits), without ? without_student(known()) : known());
}

void Ensemble::keep_rows(const RowBlock& rows) {
  if (!rows.divided()) return;
  for (FixedSource& source : fixed) {
    if (!std::exchange(source.own_rows, true)) source.logits = rows.own(source.logits).clone();
    source.scores.values = {};
    source.scores.pictures = {};
  }
}

Tensor Ensemble::without_student(const Tensor& rows) const {
  if (!has_student || !rows.defined()) return rows;
  return at::cat({rows.narrow(0, 0, size() - 1), rows.narrow(0, size(), rows.size(0) - size())});
}

Mixture Ensemble::deployed(const Mixture& of_members) const {
  Mixture own = of_members;
  if (!fixed.empty() && own.weights.defined()) own.weights = leading_weights(own.weights, size());
  return own;
}

Tensor leading_weights(const Tensor& weights, int64_t count) {
  constexpr double kLeastShare = 1e-6;
  const Tensor own = weights.narrow(0, 0, count), total = weights.abs().sum(), kept = own.abs().sum();
  return at::where(kept > kLeastShare * total, own * (total / kept.clamp_min(1e-30)),
                   (total / static_cast<double>(count)).expand_as(own));
}

NamedTensors Ensemble::state() const {
  NamedTensors all;
  for (size_t j = 0; j < sources.size(); ++j)
    for (NamedTensor tensor : sources[j].state()) {
      tensor.name = fmt::format("source.{}.{}", j, tensor.name);
      all.push_back(std::move(tensor));
    }
  return all;
}

void Ensemble::to(torch::Device device) {
  for (SourceModel& source : sources) source.to(device);
  for (FixedSource& source : fixed)
    if (source.logits.defined()) source.logits = source.logits.to(device);
}

void Ensemble::shard(Communicator& comm, Sharding::By by, bool sync_batch_norm) {
  for (int64_t j = 0; j < size(); ++j) sources[j].shard({&comm, by, j * comm.size() / size(), sync_batch_norm});
}

bool Ensemble::by_sources() const {
  return sources.front().sharding().by == Sharding::By::kSources;
}

void Ensemble::synchronise(const NamedTensors& state) const {
  if (comm() && sources.front().device().is_cuda()) broadcast_state(*comm(), state);
}

bool Ensemble::agreed(bool own) const {
  if (!comm()) return own;
  Tensor value = torch::tensor({static_cast<int64_t>(own)}, torch::kInt64);
  comm()->broadcast(value, 0);
  return value.item<int64_t>() != 0;
}

namespace {

std::string describe(const Preprocessing& preprocessing) {
  return fmt::format("{0}x{0} cropped from {1}x{1}{2}{3}", preprocessing.size, preprocessing.resize,
                     preprocessing.keep_aspect ? ", aspect ratio kept" : "", preprocessing.bicubic ? ", bicubic" : "");
}

}  // namespace

void require_compatible(const std::vector<SourceModel>& sources, const std::vector<std::string>& files) {
  const ModelInfo& first = sources.front().info();
  for (size_t j = 1; j < sources.size(); ++j) {
    const ModelInfo& other = sources[j].info();
    if (other.classes.size() != first.classes.size())
      input_error("{} has {} classes but {} has {}; all sources must share one set of classes", files[j],
                  other.classes.size(), files[0], first.classes.size());
    for (size_t k = 0; k < first.classes.size(); ++k)
      if (other.classes[k] != first.classes[k])
        input_error("class {} is '{}' in {} but '{}' in {}; all sources must share one set of classes in one order", k,
                    other.classes[k], files[j], first.classes[k], files[0]);
    if (!(other.preprocessing == first.preprocessing))
      input_error(
          "{} takes pictures of {} but {} of {}; all sources see the same pictures, so give weights of other programs "
          "the same --size, --resize and --aspect",
          files[j], describe(other.preprocessing), files[0], describe(first.preprocessing));
  }
}

}  // namespace tributary
