#include "tributary/model/ensemble.h"

#include <algorithm>

#include "tributary/base/error.h"

namespace tributary {

int64_t Ensemble::joint_width() const {
  int64_t width = 0;
  for (const SourceModel& source : sources) width += source.info().feature_width;
  return width;
}

Tensor Ensemble::known() const {
  const auto knows_all = [](const SourceModel& source) { return !source.known().defined(); };
  if (std::all_of(sources.begin(), sources.end(), knows_all)) return {};
  std::vector<Tensor> rows;
  for (const SourceModel& source : sources)
    rows.push_back(knows_all(source) ? torch::ones({static_cast<int64_t>(classes().size())}, torch::kBool)
                                     : source.known().cpu());
  return at::stack(rows);
}

Tensor Ensemble::stacked(const std::vector<Tensor>& logits) const {
  return complete_logits(at::stack(logits), known());
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
