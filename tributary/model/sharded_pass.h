// Passes through a network that several ranks take together.
//
// Communicator divide the work at one border, the features of the backbone: by rows, where each takes its share of
// every batch through every source, or by sources, where each has some sources of its own. Behind the border every rank
// has the features of the whole batch and of all sources, and computes the same with them: losses, labels, prototypes,
// the selection, the adversary. No method knows of it. On the way back each takes the gradient of its own rows, or
// sources, and only the gradients of backbones by rows must be added up.
#pragma once

#include <functional>
#include <utility>

#include "tributary/comm/communicator.h"
#include "tributary/model/layers.h"

namespace tributary {

// What of a source's passes this rank does.
struct Sharding {
  enum class By { kNothing, kRows, kSources };
  Communicator* comm = nullptr;  // null: there is nobody else
  By by = By::kNothing;          // kNothing: each does all of it in training, and its rows in evaluation
  int64_t owner = 0;             // the rank whose source it is, by sources
  bool sync_batch_norm = true;   // BatchNorm's, by rows

  // Whether there are other ranks' passes to share with, or to wait for.
  bool active() const { return comm != nullptr; }
  bool elsewhere() const { return by == By::kSources && comm->rank() != owner; }
};

// The rows of `x` that this rank takes in a pass by rows. A batch of fewer rows than ranks is taken whole by each.
Shard own_rows(const Communicator& comm, int64_t rows);

// A pass by rows. `forward(rows, dropout_stream, whole)` must treat every row by itself or ask `comm` for what it needs
// of the others; `whole` says that the rows are all there are.
using RowsForward = std::function<Tensor(const Tensor& rows, DropoutStream* dropout_stream, bool whole)>;
Tensor sharded_forward(Communicator& comm, const Tensor& x, DropoutStream* dropout_stream, const RowsForward& forward);

// What a training pass draws a picture: the shape of every mask without its rows, and the share of zeros.
using PassDraws = std::vector<std::pair<std::vector<int64_t>, double>>;

// What `owner` has got from a pass, float32 or, in mixed precision, bfloat16.
Tensor send_from_owner(Communicator& comm, const Tensor& own);
// The same on the other ranks, [rows, width], which then have drawn what the owner drew.
Tensor receive_from_owner(Communicator& comm, int64_t owner, const Tensor& x, int64_t width,
                          DropoutStream* dropout_stream, const PassDraws& draws);

// Makes tensors equal on all ranks: as their owner has them, or the first rank where all own them.
void broadcast_state(Communicator& comm, const NamedTensors& tensors);
// The same of those alone that have an owner.
void gather_owned(Communicator& comm, const NamedTensors& tensors);

}  // namespace tributary
