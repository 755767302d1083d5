#include "tributary/train/evaluate.h"

#include <algorithm>
#include <optional>

#include "tributary/base/error.h"
#include "tributary/base/interrupt.h"
#include "tributary/base/text.h"
#include "tributary/comm/consensus.h"
#include "tributary/device/accelerator.h"
#include "tributary/device/device.h"
#include "tributary/model/folded_network.h"
#include "tributary/model/layered_source.h"
#include "tributary/train/sequential_batches.h"

namespace tributary {

int64_t evaluation_batch(const DeviceImages& images) {
  const int64_t pixels = images.crop() * images.crop();
  if (images.device().is_cpu()) return std::clamp<int64_t>((1 << 20) / pixels, 1, 256);
  constexpr int64_t kUsual = int64_t{224} * 224;
  constexpr int64_t kBytesPerPixel = 256;  // of activations, about those of a DenseNet
  const int64_t fitting = std::max<int64_t>(total_memory(images.device()) / 8 / (kBytesPerPixel * pixels), 1);
  if (pixels > kUsual) return std::clamp<int64_t>(256 * kUsual / pixels, 1, fitting);
  return std::min(std::clamp<int64_t>((1 << 22) / pixels, 256, 4096), fitting);
}

namespace {

// Folds the network of a source where that pays: on a GPU, in mixed precision.
void fold(SourceModel& source, std::optional<FoldedNetwork>& folded) {
  LayeredSource* const layers = source.layered();
  if (layers && layers->memory().micro_batch == 0 && MixedPrecision::active(source.device()))
    folded.emplace(layers->network(), torch::kBFloat16);
}

// Collects the outputs of several sources batch by batch.
class OutputCollection {
 public:
  OutputCollection(std::span<SourceModel> sources, const DeviceImages& images, bool keep_features = true,
                   const RowBlock& rows = {});

  // The rows among the next `total` pictures that this process passes: all, unless ranks divide them.
  Shard own_rows(int64_t total) const;
  // Passes this process's rows of the next `total` pictures, normalised for every source (see `views`).
  void add(const std::vector<Tensor>& x, int64_t total);
  // The outputs for the whole set, once all batches were added.
  std::vector<Outputs> all() const;

 private:
  Tensor joined_logits(size_t source) const;

  Tensor features(size_t source, const Tensor& x);

  std::span<SourceModel> sources_;
  std::vector<std::optional<FoldedNetwork>> folded_;  // per source
  Communicator* comm_;
  RowBlock rows_;
  bool by_sources_ = false;
  FeatureKind kind_;
  std::vector<FeatureStorage> features_;  // per source; empty if not kept
  std::vector<std::vector<Tensor>> logits_;
};

OutputCollection::OutputCollection(std::span<SourceModel> sources, const DeviceImages& images, bool keep_features,
                                   const RowBlock& rows)
    : sources_(sources), comm_(sources.front().sharding().comm), rows_(rows), logits_(sources.size()) {
  const int64_t kept = rows.shard(images.size()).count();
  int64_t joint_width = 0;
  for (const SourceModel& source : sources) joint_width += source.info().feature_width;
  for (SourceModel& source : sources) fold(source, folded_.emplace_back());
  kind_ = feature_kind(kept, joint_width, images.feature_bytes());
  for (const SourceModel& source : sources) by_sources_ = by_sources_ || source.sharding().by == Sharding::By::kSources;
  if (!keep_features) return;
  if (comm_) {  // all ranks must use the choice of the rank with the least memory
    const Tensor kinds = comm_->all_gather(torch::tensor({static_cast<int64_t>(kind_)}, torch::kInt64));
    kind_ = static_cast<FeatureKind>(kinds.max().item<int64_t>());
  }
  for (const SourceModel& source : sources)
    features_.emplace_back(kind_, kept, source.info().feature_width, images.device());
}

Shard OutputCollection::own_rows(int64_t total) const {
  return comm_ && !by_sources_ ? tributary::own_rows(*comm_, total) : Shard{0, total};
}

Tensor OutputCollection::features(size_t source, const Tensor& x) {
  SourceModel& model = sources_[source];
  return folded_[source] ? model.layered()->bottleneck_features(folded_[source]->forward(x), nullptr)
                         : model.features_alone(x);
}

void OutputCollection::add(const std::vector<Tensor>& x, int64_t total) {
  std::vector<Tensor> features(sources_.size());
  for (size_t j = 0; j < sources_.size(); ++j)
    if (rows_.divided() || !sources_[j].sharding().elsewhere())
      features[j] = this->features(j, x[j]).to(torch::kFloat32);
  for (size_t j = 0; j < sources_.size(); ++j) {
    const Sharding& sharding = sources_[j].sharding();
    if (rows_.divided()) {
      // The outputs stay where they are.
    } else if (sharding.by == Sharding::By::kSources) {
      if (!features[j].defined())
        features[j] = torch::empty({total, sources_[j].info().feature_width}, x[j].options().dtype(torch::kFloat32));
      comm_->broadcast(features[j], sharding.owner);
    } else if (features[j].size(0) < total) {
      features[j] = gather_rows(*comm_, features[j], total);
    }
    logits_[j].push_back(sources_[j].classify(features[j]).to(torch::kFloat32));
    if (!features_.empty()) features_[j].append(features[j]);
  }
}

// Throws an InputError if a logit is NaN, infinite or so large that a weighted sum of several would be.
void require_finite(const Tensor& logits, const SourceModel& source, const RowBlock& rows) {
  constexpr double kLargest = 1e30;
  const bool fine = logits.numel() == 0 || (logits.abs() <= kLargest).all().item<bool>();
  const int64_t pictures =
      rows.sum(fine ? int64_t{0} : (logits.abs() <= kLargest).all(-1).logical_not().sum().item<int64_t>());
  if (pictures == 0) return;
  input_error(
      "{}: its logits are non-finite or beyond {:g} for {} of {} pictures; the weights are damaged, or were trained at "
      "too large a rate",
      source.origin(), kLargest, thousands(pictures), thousands(rows.total(logits.size(0))));
}

Tensor OutputCollection::joined_logits(size_t source) const {
  if (!logits_[source].empty()) return at::cat(logits_[source]);
  const SourceModel& model = sources_[source];  // a rank without a picture
  return torch::empty({0, static_cast<int64_t>(model.info().classes.size())},
                      at::device(model.device()).dtype(torch::kFloat32));
}

std::vector<Outputs> OutputCollection::all() const {
  std::vector<Outputs> outputs;
  for (size_t j = 0; j < sources_.size(); ++j) {
    outputs.push_back({features_.empty() ? Tensor() : features_[j].all(), joined_logits(j),
                       /*in_blocks=*/kind_ != FeatureKind::kFloat});
    require_finite(outputs.back().logits, sources_[j], rows_);
  }
  return outputs;
}

std::vector<Outputs> pass_over(std::span<SourceModel> sources, const DeviceImages& images, bool mixed_precision,
                               bool keep_features, double* waited, const RowBlock& rows) {
  torch::NoGradGuard no_grad;
  const MixedPrecision precision(mixed_precision, images.device());
  OutputCollection outputs(sources, images, keep_features, rows);
  Communicator* const comm = sources.front().sharding().comm;
  std::optional<Consensus> consensus;
  if (comm) {
    consensus.emplace(*comm);
    for (const SourceModel& source : sources) broadcast_state(*comm, source.state());
  }
  const int64_t batch = evaluation_batch(images);
  std::vector<Shard> own;
  std::vector<int64_t> totals;
  if (rows.divided()) {
    const Shard kept = rows.shard(images.size());
    for (int64_t begin = kept.begin; begin < kept.end; begin += batch) {
      own.push_back({begin, std::min(begin + batch, kept.end)});
      totals.push_back(own.back().count());
    }
    // As many turns on every rank, so that all ask at the same ones whether to stop.
    const int64_t most = (images.size() + comm->size() - 1) / comm->size();
    totals.resize(static_cast<size_t>((most + batch - 1) / batch), 0);
  } else {
    // Ranks that shard the rows process one batch each at a time.
    const bool shared = comm && outputs.own_rows(comm->size()).count() < comm->size();
    const int64_t stride = shared ? batch * comm->size() : batch;
    for (int64_t begin = 0; begin < images.size(); begin += stride) {
      totals.push_back(std::min(stride, images.size() - begin));
      const Shard part = outputs.own_rows(totals.back());
      own.push_back({begin + part.begin, begin + part.end});
    }
  }
  SequentialBatches sweep(images, own);
  for (const int64_t total : totals) {
    if (consensus)
      consensus->check_interrupt();
    else
      check_interrupt();
    if (total == 0) continue;
    const std::vector<Tensor> x = views(sweep.next(), sources);
    const NoAlgorithmSearch quick(x.front().size(0) != batch);
    outputs.add(x, total);
  }
  if (waited) *waited = sweep.waited();
  return outputs.all();
}

}  // namespace

std::vector<Outputs> evaluate(std::span<SourceModel> sources, const DeviceImages& images, bool mixed_precision,
                              double* waited, const RowBlock& rows) {
  return pass_over(sources, images, mixed_precision, /*keep_features=*/true, waited, rows);
}

Outputs evaluate(SourceModel& source, const DeviceImages& images, bool mixed_precision) {
  return evaluate({&source, 1}, images, mixed_precision).front();
}

std::vector<Outputs> evaluate_augmented(std::span<SourceModel> sources, const DeviceImages& images,
                                        const Augmentation& augmentation,
                                        const std::function<Random(int64_t begin)>& random_of, bool mixed_precision) {
  torch::NoGradGuard no_grad;
  const MixedPrecision precision(mixed_precision, images.device());
  OutputCollection outputs(sources, images);
  const int64_t batch = evaluation_batch(images);
  for (int64_t begin = 0; begin < images.size(); begin += batch) {
    const int64_t end = std::min(begin + batch, images.size());
    const NoAlgorithmSearch quick(end - begin != batch);
    const Tensor pixels = images.augmented(torch::arange(begin, end), augmentation, random_of(begin));
    const Shard own = outputs.own_rows(end - begin);
    outputs.add(views(pixels.narrow(0, own.begin, own.count()), sources), end - begin);
  }
  return outputs.all();
}

Tensor evaluate_logits(Ensemble& ensemble, const DeviceImages& images, const RowBlock& rows) {
  std::vector<Tensor> logits;
  for (const Outputs& outputs : pass_over(ensemble.sources, images, /*mixed_precision=*/false, /*keep_features=*/false,
                                          /*waited=*/nullptr, rows))
    logits.push_back(outputs.logits);
  return ensemble.stacked(logits);
}

}  // namespace tributary
