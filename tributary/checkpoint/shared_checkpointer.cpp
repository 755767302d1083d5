#include "tributary/checkpoint/shared_checkpointer.h"

#include <cstring>
#include <nlohmann/json.hpp>

#include "tributary/base/json_text.h"
#include "tributary/model/sharded_pass.h"

namespace tributary {
namespace {

bool is_shared(const NamedTensor& tensor) {
  return !tensor.name.starts_with(kOfFirstRank);
}

// A checkpoint without the values of its shared tensors, as JSON; empty for null.
std::string outline_of(const Checkpoint* checkpoint) {
  if (!checkpoint) return "";
  nlohmann::json outline = {{"facts", checkpoint->facts()}, {"tensors", nlohmann::json::array()}};
  for (const NamedTensor& tensor : checkpoint->tensors)
    if (is_shared(tensor))
      outline["tensors"].push_back({{"name", tensor.name},
                                    {"shape", tensor.value.sizes().vec()},
                                    {"type", static_cast<int>(tensor.value.scalar_type())}});
  return json_text(outline);
}

}  // namespace

std::string broadcast_text(Communicator& comm, const std::string& own) {
  Tensor length = torch::tensor({static_cast<int64_t>(own.size())}, torch::kInt64);
  comm.broadcast(length, 0);
  const auto bytes = length.item<int64_t>();
  if (bytes == 0) return "";
  Tensor text = torch::empty({bytes}, torch::kUInt8);
  if (comm.first()) std::memcpy(text.data_ptr(), own.data(), own.size());
  comm.broadcast(text, 0);
  return {static_cast<const char*>(text.data_ptr()), static_cast<size_t>(bytes)};
}

SharedCheckpointer::SharedCheckpointer(Communicator& comm, CheckpointFolder* folder, const CheckpointOptions& options)
    : comm_(comm), folder_(folder), consensus_(comm, /*always=*/options.every == 0) {}

const Checkpoint* SharedCheckpointer::resume_point() {
  const Checkpoint* const own = folder_ ? folder_->resume_point() : nullptr;
  if (std::exchange(looked_, true)) return folder_ ? own : received_ ? &*received_ : nullptr;
  const std::string outline = broadcast_text(comm_, outline_of(own));
  if (outline.empty()) return nullptr;
  if (own) {
    for (const NamedTensor& tensor : own->tensors) {
      if (!is_shared(tensor)) continue;
      Tensor value = tensor.value.contiguous();
      comm_.broadcast(value, 0);
    }
    return own;
  }
  const nlohmann::json parsed = nlohmann::json::parse(outline);
  received_.emplace();
  received_->facts() = parsed.at("facts");
  for (const nlohmann::json& tensor : parsed.at("tensors")) {
    const auto type = static_cast<torch::ScalarType>(tensor.at("type").get<int>());
    Tensor value = torch::empty(tensor.at("shape").get<std::vector<int64_t>>(), type);
    comm_.broadcast(value, 0);
    received_->tensors.push_back({tensor.at("name"), value});
  }
  return &*received_;
}

void SharedCheckpointer::save_if_due(const Take& take) {
  const auto decision = consensus_.ask([this] { return folder_ && folder_->due(); });
  if (!decision || (decision->signal == 0 && !decision->wanted)) return;
  keep(take);
  if (decision->signal != 0) throw Interrupted(decision->signal, interrupted_message());
}

void SharedCheckpointer::keep(const Take& take) {
  received_.reset();
  const Checkpoint checkpoint = take();
  gather_owned(comm_, checkpoint.tensors);
  if (folder_) folder_->keep([&] { return checkpoint; });
}

std::string SharedCheckpointer::interrupted_message() const {
  return folder_ ? folder_->interrupted_message() : Checkpointer::interrupted_message();
}

}  // namespace tributary
