#include "tributary/train/shared_snapshots.h"

#include <cstring>

#include "tributary/model/shared_pass.h"

namespace tributary {
namespace {

// Everything of a snapshot but the values of its tensors.
std::string outline_of(const Snapshot* snapshot) {
  if (!snapshot) return "";
  nlohmann::json outline = {{"facts", snapshot->facts}, {"tensors", nlohmann::json::array()}};
  for (const NamedTensor& tensor : snapshot->tensors)
    outline["tensors"].push_back({{"name", tensor.name},
                                  {"shape", tensor.value.sizes().vec()},
                                  {"type", static_cast<int>(tensor.value.scalar_type())}});
  return outline.dump();
}

}  // namespace

std::string agreed_text(Ranks& ranks, const std::string& own) {
  Tensor length = torch::tensor({static_cast<int64_t>(own.size())}, torch::kInt64);
  ranks.broadcast(length, 0);
  const auto bytes = length.item<int64_t>();
  if (bytes == 0) return "";
  Tensor text = torch::empty({bytes}, torch::kUInt8);
  if (ranks.first()) std::memcpy(text.data_ptr(), own.data(), own.size());
  ranks.broadcast(text, 0);
  return {static_cast<const char*>(text.data_ptr()), static_cast<size_t>(bytes)};
}

SharedSnapshots::SharedSnapshots(Ranks& ranks, SnapshotFolder* folder, const SnapshotOptions& options)
    : ranks_(ranks), folder_(folder), pace_(ranks, /*always=*/options.every == 0) {}

const Snapshot* SharedSnapshots::found() {
  const Snapshot* const own = folder_ ? folder_->found() : nullptr;
  if (std::exchange(looked_, true)) return folder_ ? own : received_ ? &*received_ : nullptr;
  const std::string outline = agreed_text(ranks_, outline_of(own));
  if (outline.empty()) return nullptr;
  if (own) {
    for (const NamedTensor& tensor : own->tensors) {
      Tensor value = tensor.value.contiguous();
      ranks_.broadcast(value, 0);
    }
    return own;
  }
  const nlohmann::json parsed = nlohmann::json::parse(outline);
  received_.emplace();
  received_->facts = parsed.at("facts");
  for (const nlohmann::json& tensor : parsed.at("tensors")) {
    const auto type = static_cast<torch::ScalarType>(tensor.at("type").get<int>());
    Tensor value = torch::empty(tensor.at("shape").get<std::vector<int64_t>>(), type);
    ranks_.broadcast(value, 0);
    received_->tensors.push_back({tensor.at("name"), value});
  }
  return &*received_;
}

void SharedSnapshots::pass(const Take& take) {
  const auto decision = pace_.ask([this] { return folder_ && folder_->due(); });
  if (!decision || (decision->signal == 0 && !decision->wanted)) return;
  keep(take);
  if (decision->signal != 0) throw Interrupted(decision->signal, farewell());
}

void SharedSnapshots::keep(const Take& take) {
  received_.reset();
  const Snapshot snapshot = take();
  collect_owned(ranks_, snapshot.tensors);
  if (folder_) folder_->keep([&] { return snapshot; });
}

std::string SharedSnapshots::farewell() const {
  return folder_ ? folder_->farewell() : Snapshots::farewell();
}

}  // namespace tributary
