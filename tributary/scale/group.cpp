#include "tributary/scale/group.h"

#include <torch/csrc/distributed/c10d/HashStore.hpp>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include <cstdlib>
#include <vector>

#include "tributary/base/error.h"
#include "tributary/base/message.h"
#include "tributary/scale/address.h"

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

c10::intrusive_ptr<Group> open_gloo([[maybe_unused]] const c10::intrusive_ptr<c10d::Store>& store,
                                    [[maybe_unused]] const Place& place,
                                    [[maybe_unused]] std::chrono::milliseconds timeout) {
#ifdef TRIBUTARY_GLOO
  using Gloo = c10d::ProcessGroupGloo;
  auto options = Gloo::Options::create(timeout);
  // The network by which rank 0 is reached, unless Gloo's own variable names another.
  const char* const interface = std::getenv("GLOO_SOCKET_IFNAME");
  options->devices.push_back(interface ? Gloo::createDeviceForInterface(interface)
                                       : Gloo::createDeviceForHostname(own_address(place.address)));
  return c10::make_intrusive<Gloo>(store, static_cast<int>(place.rank), static_cast<int>(place.size), options);
#else
  input_error("this program was built without Gloo, which joins processes on CPUs; use GPUs, or one process");
#endif
}

c10::intrusive_ptr<Group> open_nccl([[maybe_unused]] const c10::intrusive_ptr<c10d::Store>& store,
                                    [[maybe_unused]] const Place& place,
                                    [[maybe_unused]] std::chrono::milliseconds timeout) {
#ifdef TRIBUTARY_NCCL
  auto options = c10d::ProcessGroupNCCL::Options::create();
  options->timeout = timeout;
  return c10::make_intrusive<c10d::ProcessGroupNCCL>(store, static_cast<int>(place.rank), static_cast<int>(place.size),
                                                     options);
#else
  input_error("this program was built without NCCL, which joins processes on GPUs; use --device cpu, or one process");
#endif
}

c10::intrusive_ptr<c10d::Store> tcp_store(const Place& place, bool server, std::chrono::milliseconds patience) {
  c10d::TCPStoreOptions options;
  options.port = static_cast<uint16_t>(place.port);
  options.isServer = server;
  options.numWorkers = static_cast<size_t>(place.size);
  options.waitWorkers = false;  // the group waits for all
  options.timeout = patience;
  try {
    c10::intrusive_ptr<c10d::Store> store = c10::make_intrusive<c10d::TCPStore>(place.address, options);
    if (!place.met_by_starter) return store;
    return c10::make_intrusive<c10d::PrefixStore>("tributary/attempt " + place.attempt, store);
  } catch (const std::exception& error) {
    work_error("rank {} of {} does not meet the others at {} port {}: {}", place.rank, place.size, place.address,
               place.port, first_line(error.what()));
  }
}

}  // namespace

bool is_nccl(torch::Device device) {
  return device.is_cuda();
}

bool has_group(torch::Device device) {
#ifdef TRIBUTARY_GLOO
  if (!is_nccl(device)) return true;
#endif
#ifdef TRIBUTARY_NCCL
  if (is_nccl(device)) return true;
#endif
  return false;
}

c10::intrusive_ptr<c10d::Store> open_store(const Place& place, std::chrono::milliseconds patience) {
  if (place.size == 1) return c10::make_intrusive<c10d::HashStore>();
  const bool server = place.rank == 0 && !place.met_by_starter;
  auto store = tcp_store(place, server, patience);
  if (server) keep_to_loopback(place.address, place.port);
  return store;
}

c10::intrusive_ptr<c10d::Store> connect_store(const Place& place, std::chrono::milliseconds patience) {
  return tcp_store(place, /*server=*/false, patience);
}

c10::intrusive_ptr<Group> open_group(const c10::intrusive_ptr<c10d::Store>& store, const Place& place,
                                     torch::Device device, std::chrono::milliseconds timeout) {
  return is_nccl(device) ? open_nccl(store, place, timeout) : open_gloo(store, place, timeout);
}

void close_group([[maybe_unused]] c10::intrusive_ptr<Group> group) {
#ifdef TRIBUTARY_NCCL
  if (group->getBackendName() == "nccl") group->shutdown();
#endif
}

void abandon_group(c10::intrusive_ptr<Group> group) {
  static auto* const abandoned = new std::vector<c10::intrusive_ptr<Group>>;
  abandoned->push_back(std::move(group));
}

}  // namespace tributary
