// Fuzzes the program with a model file: predict, and adapt for one step. An input that is no model file changes a valid
// one: its first line is a JSON merge patch of the description, then every six bytes scale a tensor by a float.
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>

#include "fuzz/program.h"
#include "tributary/base/files.h"
#include "tributary/io/safetensors.h"

using namespace tributary;

namespace {

struct Files {
  Files() : target(fuzz::write_digits(folder, 4)), model(folder.path() + "/model.safetensors") {
    save_source(model, fuzz::small_model(1));
    good.emplace(SafetensorsFile::read(model));
  }
  fuzz::Folder folder;
  std::string target, model;
  std::optional<SafetensorsFile> good;
};

// Reduces valid picture sizes to one that is quick: four pictures of the largest take 40 s with sanitizers. Leaves
// invalid sizes as they are.
void reduce_pictures(nlohmann::json& description) {
  constexpr int64_t kSide = 128, kLargestValid = 4096;
  for (const char* key : {"input_size", "resize"}) {
    const auto side = description.find(key);
    if (side == description.end() || !side->is_number_integer()) continue;
    if (side->get<int64_t>() > kSide && side->get<int64_t>() <= kLargestValid) *side = kSide;
  }
}

// Tensors and description of a valid model, changed by the input.
void write_changed(const Files& files, const uint8_t* data, size_t size) {
  const std::string_view text = fuzz::text_of(data, size);
  const size_t line = std::min(text.find('\n'), text.size());
  const nlohmann::json patch = nlohmann::json::parse(text.substr(0, line), nullptr, /*allow_exceptions=*/false);
  auto metadata = files.good->metadata();
  nlohmann::json description = nlohmann::json::parse(metadata.at("model"));
  if (patch.is_object()) description.merge_patch(patch);
  if (description.is_object()) reduce_pictures(description);
  metadata["model"] = description.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  std::vector<TensorEntry> entries = files.good->entries();
  std::vector<std::vector<float>> values;  // of the changed tensors
  values.reserve(size);
  for (size_t at = line + 1; at + 5 < size; at += 6) {
    TensorEntry& entry = entries[data[at] % entries.size()];
    if (entry.dtype != DType::F32) continue;
    float factor = 0;
    std::memcpy(&factor, data + at + 2, sizeof factor);
    std::vector<float>& changed = values.emplace_back(entry.data.size() / sizeof(float));
    std::memcpy(changed.data(), entry.data.data(), entry.data.size());
    const size_t step = size_t{1} + data[at + 1];
    for (size_t i = 0; i < changed.size(); i += step) changed[i] *= factor;
    entry.data = {reinterpret_cast<const uint8_t*>(changed.data()), changed.size() * sizeof(float)};
  }
  write_safetensors(files.model, entries, metadata);
}

void expect_result_or_refusal(int code) {
  // 1 is a non-finite loss: large weights may train badly.
  fuzz::require(code == 0 || code == kWorkError || code == kInputError, "exit code " + std::to_string(code));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static Files files;
  const bool is_model = size > 8 && data[8] == '{';
  if (is_model)
    files.folder.write("model.safetensors", fuzz::text_of(data, size));
  else
    write_changed(files, data, size);
  expect_result_or_refusal(fuzz::run_program({"predict", files.model, "--data", files.target, "--threads", "1"}));
  const std::string run = files.folder.path() + "/run";
  remove_folder(run);
  expect_result_or_refusal(fuzz::run_program({"adapt", "--source", files.model, "--target", files.target, "--run", run,
                                              "--rounds", "1", "--inner-epochs", "1", "--batch", "4", "--threads", "1",
                                              "--weight-steps", "20", "--no-report", "--no-history"}));
  return 0;
}
