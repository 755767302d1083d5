// Several source models and their mixture: the input and the output of an adaptation.
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
  // bool [m, K]: which source knows which class, on the host; undefined if every source knows all.
  Tensor known() const;
  // The logits of all sources [m, n, K] from those of each [n, K], completed where a source does not know a class.
  Tensor stacked(const std::vector<Tensor>& logits) const;
  const Preprocessing& preprocessing() const { return sources.front().info().preprocessing; }
  int64_t joint_width() const;  // sum of the sources' feature widths
  // Parameters and buffers of all sources, named "source.<j>." plus the name in model files.
  NamedTensors state() const;
  void to(torch::Device device);

  // Distributes the sources' passes over the ranks of `comm`. By sources, each rank owns a contiguous block of them.
  void shard(Communicator& comm, Sharding::By by, bool sync_batch_norm = true);
  // Null in a single-process run.
  Communicator* comm() const { return sources.front().sharding().comm; }
  bool by_sources() const;
  // Makes tensors that every rank computed for itself equal on all: on a GPU sums may be taken in another order, and
  // labels or a selection come out otherwise. Does nothing on a CPU or in a single process.
  void synchronise(const NamedTensors& state) const;
  // The value of the first rank.
  bool agreed(bool own) const;
};

// Throws an InputError that names both files unless all sources have the same classes in the same order and the same
// preprocessing. `files[j]` is the file of source j.
void require_compatible(const std::vector<SourceModel>& sources, const std::vector<std::string>& files);

}  // namespace tributary
