// Several sources and how they are put together: what goes into an adaptation and what comes out of it.
#pragma once

#include <vector>

#include "tributary/model/mixture.h"
#include "tributary/model/source_model.h"

namespace tributary {

struct Ensemble {
  std::vector<SourceModel> sources;
  Mixture mixture;

  int64_t size() const { return static_cast<int64_t>(sources.size()); }
  const std::vector<std::string>& classes() const { return sources.front().info().classes; }
  const Preprocessing& preprocessing() const { return sources.front().info().preprocessing; }
  int64_t joint_width() const;  // sum of the feature widths
  // Every parameter and buffer of all sources: "source.0." and its name in model files.
  NamedTensors state() const;
  void to(torch::Device device);

  // From here on ranks share the sources' passes. By sources, rank r has a block of them.
  void shard(Communicator& comm, Sharding::By by, bool sync_batch_norm = true);
  // Null in a single process.
  Communicator* comm() const { return sources.front().sharding().comm; }
  bool by_sources() const;
  // Makes tensors that every rank computed for itself equal on all: on a GPU sums may be taken in another order, and
  // labels or a selection come out otherwise. Does nothing on a CPU or in a single process.
  void synchronise(const NamedTensors& state) const;
};

// Throws an InputError that names both files unless all sources know the same classes in the same order and take
// pictures of the same size. `files` says where each source came from.
void require_compatible(const std::vector<SourceModel>& sources, const std::vector<std::string>& files);

}  // namespace tributary
