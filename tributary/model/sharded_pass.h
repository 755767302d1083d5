// Forward passes that are sharded over ranks.
//
// Only the backbones are sharded: by rows, where each rank runs its rows of the batch through every source, or by
// sources, where each rank owns some of the sources. The features are then gathered, and every rank computes the same
// from the features of the whole batch and all sources: losses, labels, prototypes, the selection, the adversary. The
// methods do not see the sharding. In the backward pass each rank takes the gradient of its own rows or sources, and
// only the gradients of backbones sharded by rows must be summed.
#pragma once

#include <functional>
#include <utility>

#include "tributary/comm/communicator.h"
#include "tributary/model/layers.h"

namespace tributary {

// How the passes of one source are distributed.
struct Sharding {
  enum class By { kNothing, kRows, kSources };
  Communicator* comm = nullptr;  // null in a single-process run
  By by = By::kNothing;          // kNothing: every rank does all of training, and its own rows in evaluation
  int64_t owner = 0;             // by sources: the rank that owns this source
  bool sync_batch_norm = true;   // by rows: whether BatchNorm uses the statistics of all ranks' rows

  // Whether several ranks take part.
  bool active() const { return comm != nullptr; }
  // Whether another rank runs the backbone of this source.
  bool elsewhere() const { return by == By::kSources && comm->rank() != owner; }
};

// The rows of a batch that this rank computes in a pass by rows: all of them if there are fewer rows than ranks.
Shard own_rows(const Communicator& comm, int64_t rows);

// A pass by rows; returns the gathered result of all rows on every rank. `forward` must treat rows independently or
// communicate over `comm`; `whole` is true if `rows` is the whole batch. `x` must not require a gradient.
using RowsForward = std::function<Tensor(const Tensor& rows, DropoutStream* dropout_stream, bool whole)>;
Tensor sharded_forward(Communicator& comm, const Tensor& x, DropoutStream* dropout_stream, const RowsForward& forward);

// The dropout masks of a training pass, in order: shape without the batch dimension, and probability of a zero.
using PassDraws = std::vector<std::pair<std::vector<int64_t>, double>>;

// Broadcasts the features [n, width] of a pass from the rank that owns the source; float32, or bfloat16 in mixed
// precision. Called on the owner; returns its features in the broadcast dtype.
Tensor send_from_owner(Communicator& comm, const Tensor& own);
// The matching call on the other ranks. Draws the same masks as the owner, so that dropout streams stay in step.
Tensor receive_from_owner(Communicator& comm, int64_t owner, const Tensor& x, int64_t width,
                          DropoutStream* dropout_stream, const PassDraws& draws);

// Makes tensors equal on all ranks: copies them from their owner, or from rank 0 if they have none.
void broadcast_state(Communicator& comm, const NamedTensors& tensors);
// Broadcasts only the tensors that have an owner.
void gather_owned(Communicator& comm, const NamedTensors& tensors);

}  // namespace tributary
