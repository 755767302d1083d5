// Fuzzes the state from which a run resumes (checkpoint/state_checks.h). Random bytes would fail the checksum, so the
// input changes a valid checkpoint: its first line is a JSON merge patch of the facts, then every three bytes change a
// tensor.
#include <filesystem>
#include <nlohmann/json.hpp>

#include "fuzz/program.h"
#include "tributary/base/files.h"
#include "tributary/checkpoint/checkpoint.h"
#include "tributary/run/adaptation_run.h"

using namespace tributary;

namespace {

// Ends a run after its first round.
struct PowerCut : RunListener {
  struct Cutting : Observer {
    void on_round(const RoundEvent& event) override {
      if (event.round == 2) throw std::runtime_error("power cut");
    }
  };
  std::unique_ptr<Observer> make_observer(const AccuracyObserver* /*accuracy*/) override {
    return std::make_unique<Cutting>();
  }
};

// An interrupted run. It is cut again whenever it resumes, so that its folder stays as it is.
struct CutRun {
  CutRun() {
    save_source(folder.path() + "/a.safetensors", fuzz::small_model(1));
    options.sources = {folder.path() + "/a.safetensors"};
    options.target = fuzz::write_digits(folder, 8);
    options.folder = folder.path() + "/run";
    for (const MethodEntry& entry : registered_methods())
      if (entry.name == "shot") options.method = entry;
    options.method_options.epochs = 2;
    options.method_options.batch = options.batch = 4;
    options.outputs.page = options.outputs.history = false;
    options.checkpoints.every = 0;
    options.keep = KeepRule::kLabelFree;
    resume();
    const std::string one = file(0), other = file(1);
    const bool first = read_checkpoint(one).integer("number") > read_checkpoint(other).integer("number");
    good = read_checkpoint(first ? one : other);
  }
  std::string file(int slot) const { return options.folder + "/checkpoint/" + std::to_string(slot) + ".safetensors"; }
  void resume() {
    DistributedSession session;
    PowerCut listener;
    const fuzz::Quiet quiet;
    try {
      AdaptationRun(options, "seed = 0\n", session, listener).run();
    } catch (const std::runtime_error& error) {
      // All refusals are InputErrors, or the WorkError for a folder without a valid checkpoint.
      if (dynamic_cast<const InputError*>(&error) == nullptr && dynamic_cast<const WorkError*>(&error) == nullptr &&
          std::string(error.what()) != "power cut")
        throw std::logic_error(error.what());
      fuzz::require_printable(error.what());
    }
  }

  fuzz::Folder folder;
  AdaptationRunOptions options;
  Checkpoint good;
};

constexpr size_t kMostChanges = 8;

void change(Tensor& value, uint8_t how, uint8_t by) {
  switch (how % 5) {
    case 0:
      value = value.flatten().narrow(0, 0, value.numel() / 2).clone();
      break;
    case 1:
      value = at::cat({value.flatten(), value.flatten()});
      break;
    case 2:
      value = value.unsqueeze(0);
      break;
    case 3:
      value = value.to(value.is_floating_point() ? torch::kInt64 : torch::kFloat32);
      break;
    default:
      value = value.is_floating_point() ? value * 1e38F * by : value + (int64_t{1} << (by % 63));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static CutRun run;
  const std::string_view text = fuzz::text_of(data, size);
  const size_t line = std::min(text.find('\n'), text.size());
  const nlohmann::json patch = nlohmann::json::parse(text.substr(0, line), nullptr, /*allow_exceptions=*/false);
  Checkpoint checkpoint = run.good;
  if (patch.is_object()) checkpoint.facts().merge_patch(patch);
  // Few changes: each may double a tensor.
  const size_t end = std::min(size, line + 1 + 3 * kMostChanges);
  for (size_t at = line + 1; at + 2 < end; at += 3)
    change(checkpoint.tensors[data[at] % checkpoint.tensors.size()].value, data[at + 1], data[at + 2]);
  std::error_code none;
  std::filesystem::remove(run.file(1), none);
  write_checkpoint(run.file(0), checkpoint);
  run.resume();
  return 0;
}
