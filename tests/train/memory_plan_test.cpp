// Plans for known costs, and costs that are measured on the CPU with an allocator that counts.
#include "tributary/train/memory_plan.h"

#include <c10/core/CPUAllocator.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/version.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <new>

#include "tests/support/models.h"
#include "tests/support/tensors.h"
#include "tributary/base/memory.h"
#include "tributary/methods/selective/selective_options.h"
#include "tributary/model/layered_source.h"
#include "tributary/train/memory_retry.h"

namespace tributary {
namespace {

constexpr PassMemory kStored{Recompute::kNone}, kWaiting{Recompute::kWaiting}, kAll{Recompute::kAll};

PassMemory micro(int64_t pictures) {
  return {Recompute::kAll, pictures};
}

// Of two sources: 100 and 50 bytes per stored picture, 10 and 5 of recomputed ones; 40 if the first of three segments
// is recomputed.
std::vector<PassCost> two_costs() {
  return {{{100, 20}, {{40, 30}, {20, 30}, {10, 30}}, 1000}, {{50, 10}, {{5, 15}}, 500}};
}

TEST(StepBytes, OfPassesOfAllSources) {
  const HeldPasses passes{true, 2, true};
  const auto bytes = [&](const PassMemory& memory) { return step_bytes(two_costs(), passes, 8, memory); };
  // Each source holds two passes, and one works: 2 * 8 * 100 + 8 * 20 and half of it.
  EXPECT_DOUBLE_EQ(bytes(kStored), 1500 + 1760 + 880);
  // The prompt pass is stored: 8 * (100 + 20) exceeds 2 * 8 * 10 + 8 * 30.
  EXPECT_DOUBLE_EQ(bytes(kWaiting), 1500 + 960 + 480);
  // The first segment alone, which is all of the second source: 2 * 8 * 40 + 8 * 30 is less than the prompt pass.
  EXPECT_DOUBLE_EQ(bytes({Recompute::kWaiting, 0, 1}), 1500 + 960 + 480);
  // One source works at a time: 16 * 10 + 16 * 5 are held, and the first one takes 8 * 30 beside them.
  EXPECT_DOUBLE_EQ(bytes(kAll), 1500 + 160 + 80 + 240);
  // Two pictures are recomputed as a whole.
  EXPECT_DOUBLE_EQ(bytes(micro(2)), 1500 + 160 + 80 + 2 * 120);
}

TEST(StepBytes, OfOneSourceAtATime) {
  const HeldPasses passes{false, 1, false};
  EXPECT_DOUBLE_EQ(step_bytes(two_costs(), passes, 8, kStored), 1000 + 8 * 120);
  EXPECT_DOUBLE_EQ(step_bytes(two_costs(), passes, 8, kAll), 1000 + 8 * 40);
}

TEST(HeldPassesOfSelective, FollowTheLosses) {
  SelectiveOptions options;
  EXPECT_EQ(held_passes(options).waiting, 2);
  EXPECT_TRUE(held_passes(options).prompt);
  options.information_set = InformationSet::kMixed;  // needs the mixed pass to the end
  EXPECT_EQ(held_passes(options).waiting, 3);
  EXPECT_FALSE(held_passes(options).prompt);
  options.mixup = false;
  EXPECT_EQ(held_passes(options).waiting, 2);
}

TEST(MemoryPlan, TakesTheFastestThatFits) {
  std::vector<PassCost> costs = two_costs();
  const auto scale = [](PassBytes& bytes) { bytes = {1e6 * bytes.held, 1e6 * bytes.working}; };
  for (PassCost& cost : costs) {
    scale(cost.stored);
    std::for_each(cost.recomputed.begin(), cost.recomputed.end(), scale);
  }
  const auto chosen = [&](double gigabytes, const PassMemory& least = {}) {
    return memory_plan(costs, {true, 2, false}, 32, least, gigabytes * 1e9).memory;
  };
  EXPECT_EQ(chosen(100), kStored);
  EXPECT_EQ(chosen(100, kWaiting), kWaiting);
  EXPECT_EQ(chosen(100, kAll), kAll);
  EXPECT_EQ(chosen(6), (PassMemory{Recompute::kWaiting, 0, 1}));
  EXPECT_EQ(chosen(4), (PassMemory{Recompute::kWaiting, 0, 2}));
  EXPECT_EQ(chosen(3.5), kWaiting);
  EXPECT_EQ(chosen(3), kAll);
  EXPECT_EQ(chosen(2.2), micro(4));
  EXPECT_EQ(chosen(0.1), micro(2));  // nothing takes less
}

TEST(MemoryPlan, IsSaidInOneLine) {
  EXPECT_EQ(description(MemoryPlan{kAll, 32, 3.1 * kGibibyte, 6.4 * kGibibyte}),
            "GPU memory: recomputed activations; a step of 32 pictures takes 3.1 of 6.4 GiB");
}

TEST(MemoryPlan, IsNoneOnACpu) {
  SourceModel source(test::small_info("lenet"), Random(1));
  EXPECT_FALSE(memory_plan({&source, 1}, {}, 8, {}, false).has_value());
}

// While it lives, counts the bytes of tensors on the CPU. A block begins with its size.
class CountingAllocator : public c10::Allocator {
 public:
  CountingAllocator() : before_(c10::GetCPUAllocator()) { c10::SetCPUAllocator(this, kPriority); }
  ~CountingAllocator() override { c10::SetCPUAllocator(before_, kPriority); }

#if TORCH_VERSION_MAJOR >= 2
  c10::DataPtr allocate(size_t bytes) override {
    return counted(bytes);
  }
  void copy_data(void* to, const void* from, size_t count) const override {
    std::memcpy(to, from, count);
  }
#else
  c10::DataPtr allocate(size_t bytes) const override {
    return counted(bytes);
  }
#endif
  c10::DeleterFnPtr raw_deleter() const override {
    return &release;
  }

  static MemoryMeter meter() {
    return {[] { return held.load(); }, [] { return peak.load(); }, [] { peak = held.load(); }};
  }

 private:
  static constexpr uint8_t kPriority = 100;
  static constexpr size_t kAlignment = 64;  // also of the size
  static std::atomic<int64_t> held, peak;

  static c10::DataPtr counted(size_t bytes) {
    auto* begin = static_cast<uint8_t*>(::operator new(bytes + kAlignment, std::align_val_t(kAlignment)));
    std::memcpy(begin, &bytes, sizeof(bytes));
    const int64_t now = held += static_cast<int64_t>(bytes);
    for (int64_t most = peak; now > most && !peak.compare_exchange_weak(most, now);) {
    }
    return {begin + kAlignment, begin + kAlignment, &release, c10::DeviceType::CPU};
  }

  static void release(void* data) {
    if (data == nullptr) return;
    auto* begin = static_cast<uint8_t*>(data) - kAlignment;
    size_t bytes = 0;
    std::memcpy(&bytes, begin, sizeof(bytes));
    held -= static_cast<int64_t>(bytes);
    ::operator delete(begin, std::align_val_t(kAlignment));
  }

  c10::Allocator* before_;
};

std::atomic<int64_t> CountingAllocator::held = 0, CountingAllocator::peak = 0;

// Bytes that a training pass over `pictures` holds until its backward pass.
int64_t held_by(SourceModel& source, int64_t pictures, const MemoryMeter& meter) {
  const int64_t size = source.info().preprocessing.size, before = meter.held();
  DropoutStream dropout_stream(Random(3), torch::kCPU);
  const Tensor y = source.features(torch::randn({pictures, 3, size, size}), &dropout_stream);
  return meter.held() - before;
}

TEST(PassCost, PredictsWhatAPassOfManyPicturesHolds) {
  const CountingAllocator allocator;
  for (const std::string architecture : {"dtn", "resnet18"}) {
    SourceModel source(test::small_info(architecture), Random(1));
    const PassCost cost = measure_pass(source, false, CountingAllocator::meter());
    const auto held = [&] { return static_cast<double>(held_by(source, 12, CountingAllocator::meter())); };
    EXPECT_NEAR(12 * cost.stored.held / held(), 1, 0.05) << architecture;
    double before = cost.stored.held;
    for (size_t k = 0; k < cost.recomputed.size(); ++k) {
      set_memory(source, {Recompute::kAll, 0, static_cast<int64_t>(k) + 1});
      EXPECT_NEAR(12 * cost.recomputed[k].held / held(), 1, 0.1) << architecture << " " << k;
      EXPECT_LT(cost.recomputed[k].held, before) << architecture << " " << k;
      before = cost.recomputed[k].held;
    }
    EXPECT_LT(cost.recomputed.back().held, 0.5 * cost.stored.held) << architecture;
    EXPECT_GT(cost.recomputed.back().working, 0) << architecture;
  }
}

TEST(PassCost, LeavesTheModelAsItWas) {
  SourceModel source(test::small_info("dtn"), Random(1));
  set_memory(source, kWaiting);
  const NamedTensors before = copy_of(source.state());
  const CountingAllocator allocator;
  measure_pass(source, false, CountingAllocator::meter());
  for (size_t i = 0; i < before.size(); ++i)
    EXPECT_TRUE(torch::equal(source.state()[i].value, before[i].value)) << before[i].name;
  for (const NamedTensor& parameter : source.backbone_parameters()) EXPECT_FALSE(parameter.value.grad().defined());
  EXPECT_EQ(source.layered()->memory(), kWaiting);
}

}  // namespace
}  // namespace tributary
