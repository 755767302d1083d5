#include "tributary/distributed/backend.h"

#include <torch/csrc/distributed/c10d/HashStore.hpp>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include <cstdlib>
#include <vector>

#include "tributary/base/error.h"
#include "tributary/base/message.h"
#include "tributary/launch/address.h"

#ifdef TRIBUTARY_GLOO
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#endif
#ifdef TRIBUTARY_NCCL
#ifndef USE_C10D_NCCL
#define USE_C10D_NCCL
#endif
#include <torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp>
#endif

namespace tributary {
namespace {

c10::intrusive_ptr<Backend> open_gloo([[maybe_unused]] const c10::intrusive_ptr<c10d::Store>& store,
                                      [[maybe_unused]] const RankInfo& rank_info,
                                      [[maybe_unused]] std::chrono::milliseconds timeout) {
#ifdef TRIBUTARY_GLOO
  using Gloo = c10d::ProcessGroupGloo;
  auto options = Gloo::Options::create(timeout);
  // Use the network interface that reaches rank 0, unless Gloo's own variable names another.
  const char* const interface = std::getenv("GLOO_SOCKET_IFNAME");
  options->devices.push_back(interface ? Gloo::createDeviceForInterface(interface)
                                       : Gloo::createDeviceForHostname(own_address(rank_info.address)));
  return c10::make_intrusive<Gloo>(store, static_cast<int>(rank_info.rank), static_cast<int>(rank_info.size), options);
#else
  input_error(
      "this program was built without Gloo, the backend for several processes on CPUs; use GPUs or one process");
#endif
}

c10::intrusive_ptr<Backend> open_nccl([[maybe_unused]] const c10::intrusive_ptr<c10d::Store>& store,
                                      [[maybe_unused]] const RankInfo& rank_info,
                                      [[maybe_unused]] std::chrono::milliseconds timeout) {
#ifdef TRIBUTARY_NCCL
  auto options = c10d::ProcessGroupNCCL::Options::create();
  options->timeout = timeout;
  return c10::make_intrusive<c10d::ProcessGroupNCCL>(store, static_cast<int>(rank_info.rank),
                                                     static_cast<int>(rank_info.size), options);
#else
  input_error(
      "this program was built without NCCL, the backend for several processes on GPUs; use --device cpu or one "
      "process");
#endif
}

c10::intrusive_ptr<c10d::Store> tcp_store(const RankInfo& rank_info, bool server, std::chrono::milliseconds patience) {
  c10d::TCPStoreOptions options;
  options.port = static_cast<uint16_t>(rank_info.port);
  options.isServer = server;
  options.numWorkers = static_cast<size_t>(rank_info.size);
  options.waitWorkers = false;  // the backend waits for all ranks
  options.timeout = patience;
  try {
    c10::intrusive_ptr<c10d::Store> store = c10::make_intrusive<c10d::TCPStore>(rank_info.address, options);
    if (!rank_info.secret.empty()) store = c10::make_intrusive<c10d::PrefixStore>(rank_info.secret, store);
    if (!rank_info.store_hosted_by_launcher) return store;
    return c10::make_intrusive<c10d::PrefixStore>("tributary/attempt " + rank_info.attempt, store);
  } catch (const std::exception& error) {
    work_error("rank {} of {} cannot connect to the store at {} port {}: {}", rank_info.rank, rank_info.size,
               rank_info.address, rank_info.port, first_line(error.what()));
  }
}

}  // namespace

bool is_nccl(torch::Device device) {
  return device.is_cuda();
}

bool has_backend(torch::Device device) {
#ifdef TRIBUTARY_GLOO
  if (!is_nccl(device)) return true;
#endif
#ifdef TRIBUTARY_NCCL
  if (is_nccl(device)) return true;
#endif
  return false;
}

c10::intrusive_ptr<c10d::Store> open_store(const RankInfo& rank_info, std::chrono::milliseconds patience) {
  if (rank_info.size == 1) return c10::make_intrusive<c10d::HashStore>();
  const bool server = rank_info.rank == 0 && !rank_info.store_hosted_by_launcher;
  auto store = tcp_store(rank_info, server, patience);
  if (server) keep_to_loopback(rank_info.address, rank_info.port);
  return store;
}

c10::intrusive_ptr<c10d::Store> connect_store(const RankInfo& rank_info, std::chrono::milliseconds patience) {
  return tcp_store(rank_info, /*server=*/false, patience);
}

c10::intrusive_ptr<Backend> open_backend(const c10::intrusive_ptr<c10d::Store>& store, const RankInfo& rank_info,
                                         torch::Device device, std::chrono::milliseconds timeout) {
  return is_nccl(device) ? open_nccl(store, rank_info, timeout) : open_gloo(store, rank_info, timeout);
}

void close_backend([[maybe_unused]] c10::intrusive_ptr<Backend> backend) {
#ifdef TRIBUTARY_NCCL
  if (backend->getBackendName() == "nccl") backend->shutdown();
#endif
}

void abandon_backend(c10::intrusive_ptr<Backend> backend) {
  static auto* const abandoned = new std::vector<c10::intrusive_ptr<Backend>>;
  abandoned->push_back(std::move(backend));
}

}  // namespace tributary
