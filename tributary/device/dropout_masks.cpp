#include "tributary/device/dropout_masks.h"

#include "tributary/base/error.h"

namespace tributary {

DropoutMasks::DropoutMasks(const std::vector<DropoutStream>& used) {
  std::vector<Tensor> position, owner, threshold, kept;
  int64_t draws = 0;
  for (size_t i = 0; i < used.size(); ++i) {
    std::vector<Mask> masks;
    int64_t in_stream = 0;
    for (size_t k = 0; k < used[i].drawn().size(); ++k) {
      const Tensor& mask = used[i].drawn()[k];
      const double drop = used[i].drops()[k];
      const int64_t own = (mask.numel() + 1) / 2;
      masks.push_back({mask.sizes().vec(), 2 * draws, mask.numel(), false});
      position.push_back(torch::arange(in_stream + 1, in_stream + own + 1, torch::kInt64));
      owner.push_back(torch::full({own}, static_cast<int64_t>(i), torch::kInt64));
      masks.back().normal = drop == kNormal;
      threshold.push_back(torch::full({2 * own}, drop == kNormal ? 0 : drop_threshold(drop), torch::kInt64));
      kept.push_back(torch::full({2 * own}, drop == kNormal ? 0 : 1 / (1 - drop), torch::kFloat32));
      in_stream += own;
      draws += own;
    }
    masks_.push_back(std::move(masks));
  }
  if (draws == 0) return;
  const auto whole = [&](const std::vector<Tensor>& parts) { return at::cat(parts).to(used.front().device()); };
  position_ = whole(position);
  owner_ = whole(owner);
  threshold_ = whole(threshold);
  kept_ = whole(kept);
}

std::vector<DropoutStream> DropoutMasks::draw(const Tensor& keys) const {
  TRIBUTARY_CHECK(keys.size(0) == static_cast<int64_t>(masks_.size()), "{} keys for {} dropout streams", keys.size(0),
                  masks_.size());
  Tensor draws, numbers;
  if (position_.defined()) {
    draws = keyed_draws(position_, keys.index_select(0, owner_));
    numbers = (draws >= threshold_).to(torch::kFloat32).mul_(kept_);
  }
  std::vector<DropoutStream> dropout_streams;
  for (const std::vector<Mask>& masks : masks_) {
    std::vector<Tensor> prepared;
    for (const Mask& mask : masks) {
      const int64_t whole = (mask.count + 1) / 2 * 2;
      const Tensor own = mask.normal ? normals_from(draws.narrow(0, mask.begin, whole)).narrow(0, 0, mask.count)
                                     : numbers.narrow(0, mask.begin, mask.count);
      prepared.push_back(own.view(mask.shape));
    }
    dropout_streams.emplace_back(std::move(prepared), keys.device());
  }
  return dropout_streams;
}

}  // namespace tributary
