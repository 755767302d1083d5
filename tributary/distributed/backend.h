// The connection of all ranks: c10d's store, where they meet, and its process group, which does the collectives.
//
// The one place that knows which of them LibTorch has here, and what they are called in its versions: Gloo joins CPUs,
// NCCL joins GPUs.
#pragma once

#include <torch/version.h>
#include <torch/csrc/distributed/c10d/Store.hpp>

#include <chrono>

#include "tributary/base/tensor.h"
#include "tributary/launch/rank_info.h"

#if TORCH_VERSION_MAJOR >= 2
#include <torch/csrc/distributed/c10d/Backend.hpp>
#else
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#endif

namespace tributary {

#if TORCH_VERSION_MAJOR >= 2
using Backend = c10d::Backend;
#else
using Backend = c10d::ProcessGroup;
#endif

// Rank 0 hosts the store; all others come within `patience`, or it is a WorkError. On the loopback nobody from outside
// can reach it.
c10::intrusive_ptr<c10d::Store> open_store(const RankInfo& rank_info, std::chrono::milliseconds patience);

// Another connection to the store of rank 0.
c10::intrusive_ptr<c10d::Store> connect_store(const RankInfo& rank_info, std::chrono::milliseconds patience);

// NCCL's for a GPU, Gloo's for a CPU. A collective that takes longer than `timeout` fails. An InputError where this
// program was built without the one that is needed.
c10::intrusive_ptr<Backend> open_backend(const c10::intrusive_ptr<c10d::Store>& store, const RankInfo& rank_info,
                                         torch::Device device, std::chrono::milliseconds timeout);

// Ends the group after work that went well.
void close_backend(c10::intrusive_ptr<Backend> backend);
// Leaves the group to the end of the process: a collective that waits for a lost rank cannot be ended.
void abandon_backend(c10::intrusive_ptr<Backend> backend);

// Whether the ranks of a device are joined by NCCL, otherwise by Gloo; and whether this program has that.
bool is_nccl(torch::Device device);
bool has_backend(torch::Device device);

}  // namespace tributary
