// Several source models and their mixture: the input and the output of an adaptation.
#pragma once

#include <vector>

#include "tributary/comm/row_block.h"
#include "tributary/io/score_file.h"
#include "tributary/model/mixture.h"
#include "tributary/model/source_model.h"

namespace tributary {

// A source of which only the scores of the target pictures are given. It has no features and cannot be trained.
struct FixedSource {
  std::string name;
  ScoreFile scores;
  ScoreKind kind = ScoreKind::kAuto;
  std::vector<std::string> classes;  // of the ensemble
  std::vector<int64_t> outputs;      // the class of every column
  Tensor known;                      // bool [K]: the classes that have scores; undefined if all have
  Tensor logits;                     // float [n, K] over the target set; undefined before match_pictures()
  bool own_rows = false;             // whether these are only the rows that this rank keeps

  // Reads the logits of the pictures `names` of the target set `target` (io/score_file.h, rows_of).
  void match_pictures(const std::vector<std::string>& names, const std::string& target);
};

// With fixed sources, an adaptation has m members: the sources, then the fixed ones. Labels come from all members; the
// mixture, which is deployed, has the sources only.
struct Ensemble {
  std::vector<SourceModel> sources;
  Mixture mixture;
  std::vector<FixedSource> fixed;
  bool has_student = false;  // the last source begins without knowledge and learns from the other members' labels

  int64_t size() const { return static_cast<int64_t>(sources.size()); }
  int64_t members() const { return size() + static_cast<int64_t>(fixed.size()); }
  const std::vector<std::string>& classes() const { return sources.front().info().classes; }
  // The names of all members; fixed sources are marked.
  std::vector<std::string> member_names() const;
  // bool [m, K]: which member knows which class, on the host; undefined if every member knows all.
  Tensor known() const;
  // The logits of all sources [m, n, K] from those of each [n, K], completed where a source does not know a class.
  Tensor stacked(const std::vector<Tensor>& logits) const;
  // The same of all members, from the logits of the sources, or of the sources but the student; of divided rows, the
  // own.
  Tensor with_fixed(std::vector<Tensor> logits, const RowBlock& rows = {}) const;
  // Keeps only the own rows of the fixed sources, and nothing of their files but the path.
  void keep_rows(const RowBlock& rows);
  // Rows of members without that of the student, which is no witness of its teachers: dimension 0 has one per member.
  Tensor without_student(const Tensor& rows) const;
  // The mixture of the sources alone with the weights that they have in one of all members.
  Mixture deployed(const Mixture& of_members) const;
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

// The first `count` of the weights, scaled to the sum of all; equal if they have no share of it.
Tensor leading_weights(const Tensor& weights, int64_t count);

// Throws an InputError that names both files unless all sources have the same classes in the same order and the same
// preprocessing. `files[j]` is the file of source j.
void require_compatible(const std::vector<SourceModel>& sources, const std::vector<std::string>& files);

}  // namespace tributary
