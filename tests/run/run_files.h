// Tiny data and models on disk, and a listener that records its calls, for tests of runs.
#pragma once

#include <fmt/format.h>

#include <functional>
#include <string>
#include <vector>

#include "tests/support/models.h"
#include "tests/support/temp_dir.h"
#include "tributary/data/digits/digits.h"
#include "tributary/data/digits/idx.h"
#include "tributary/model_io/model_file.h"
#include "tributary/run/run_listener.h"

namespace tributary::test {

// Writes generated digits as NAME/train-images.idx with their labels, and returns the path of the pictures.
inline std::string write_digits(const TempDir& folder, const std::string& name, DigitDomain domain, int64_t count,
                                uint64_t seed = 1) {
  const LabelledImages data = make_digits(domain, count, seed);
  folder.folder(name);
  write_idx_images(folder / (name + "/train-images.idx"), data.images);
  write_idx_labels(folder / (name + "/train-labels.idx"), data.labels);
  return folder / (name + "/train-images.idx");
}

// Writes an untrained source and returns its path.
inline std::string write_source(const TempDir& folder, const std::string& architecture, uint64_t seed) {
  const std::string name = fmt::format("{}-{}", architecture, seed), path = folder / (name + ".safetensors");
  ModelInfo info = small_info(architecture);
  info.name = name;
  save_source(path, SourceModel(info, Random(seed)));
  return path;
}

struct RecordingListener : RunListener {
  std::vector<SkippedPicture> skipped;
  std::vector<int64_t> resumed;
  std::vector<PassMemory> retried;
  std::vector<std::string> warnings;
  int64_t progress = 0, trained = 0;
  std::function<void(const RoundEvent&)> on_round;

  void on_skipped(const std::vector<SkippedPicture>& pictures, int64_t) override {
    skipped.insert(skipped.end(), pictures.begin(), pictures.end());
  }
  void on_resume(int64_t round) override { resumed.push_back(round); }
  void on_memory_retry(const PassMemory& memory) override { retried.push_back(memory); }
  void on_warning(const std::string& message) override { warnings.push_back(message); }
  void on_progress(double, const std::string&, const std::string&) override { ++progress; }
  void on_trained() override { ++trained; }
  std::unique_ptr<Observer> make_observer(const AccuracyObserver*) override {
    struct Calling : Observer {
      explicit Calling(const std::function<void(const RoundEvent&)>& call) : call_(call) {}
      void on_round(const RoundEvent& event) override {
        if (call_) call_(event);
      }
      const std::function<void(const RoundEvent&)>& call_;
    };
    return std::make_unique<Calling>(on_round);
  }
};

}  // namespace tributary::test
