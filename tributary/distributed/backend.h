// Opens the c10d store and the c10d backend (Gloo on CPUs, NCCL on GPUs) of a distributed run.
//
// This file hides which backends LibTorch was built with and how their names differ between LibTorch versions.
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

// Opens the key-value store for rendezvous, hosted by rank 0 or by the launcher. Throws a WorkError if the connection
// takes longer than `patience`. If the address is the loopback, the store is not reachable from other machines.
c10::intrusive_ptr<c10d::Store> open_store(const RankInfo& rank_info, std::chrono::milliseconds patience);

// Opens another connection to the store.
c10::intrusive_ptr<c10d::Store> connect_store(const RankInfo& rank_info, std::chrono::milliseconds patience);

// Opens NCCL for a GPU, Gloo for a CPU. Collectives that take longer than `timeout` fail. Throws an InputError if the
// program was built without that backend.
c10::intrusive_ptr<Backend> open_backend(const c10::intrusive_ptr<c10d::Store>& store, const RankInfo& rank_info,
                                         torch::Device device, std::chrono::milliseconds timeout);

// Shuts the backend down after a successful run.
void close_backend(c10::intrusive_ptr<Backend> backend);
// Leaks the backend: its destructor would block in a collective that waits for a lost rank.
void abandon_backend(c10::intrusive_ptr<Backend> backend);

// Whether ranks on such a device use NCCL; otherwise they use Gloo.
bool is_nccl(torch::Device device);
// Whether the program was built with the backend for such a device.
bool has_backend(torch::Device device);

}  // namespace tributary
