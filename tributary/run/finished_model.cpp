#include "tributary/run/finished_model.h"

#include <filesystem>
#include <sstream>

#include "tributary/base/crc32c.h"
#include "tributary/base/error.h"
#include "tributary/base/json_text.h"
#include "tributary/io/safetensors.h"
#include "tributary/model_io/model_file.h"

namespace tributary {
namespace {

constexpr const char* kOptions = "training_options";  // keys of the metadata
constexpr const char* kResult = "training_result";

// A digest of the options but for the number of threads, which a run on several processes does not record.
std::string digest_of(const Configuration& config) {
  std::istringstream lines(config.text);
  std::string kept;
  for (std::string line; std::getline(lines, line);)
    if (!line.starts_with("threads = ")) kept += line + '\n';
  return fmt::format("{:08x}", crc32c(kept));
}

}  // namespace

void save_finished(const std::string& file, const SourceModel& model, const Configuration& config,
                   const nlohmann::json& result) {
  save_source(file, model, {{kOptions, digest_of(config)}, {kResult, json_text(result)}});
}

std::optional<nlohmann::json> finished_result(const std::string& file, const Configuration& config, bool restart) {
  std::error_code error;
  if (restart || !std::filesystem::exists(file, error)) return std::nullopt;
  const std::string checkpoints = file + ".checkpoint";
  if (std::filesystem::is_directory(checkpoints, error) && !std::filesystem::is_empty(checkpoints, error))
    return std::nullopt;
  std::string options, result;
  try {
    const SafetensorsFile model = SafetensorsFile::read(file);
    const auto value = [&](const char* key) {
      const auto found = model.metadata().find(key);
      return found == model.metadata().end() ? std::string() : found->second;
    };
    options = value(kOptions);
    result = value(kResult);
  } catch (const InputError&) {  // some other file
  }
  const nlohmann::json read = nlohmann::json::parse(result, nullptr, /*allow_exceptions=*/false);
  if (options == digest_of(config) && read.is_object()) return read;
  input_error("{} already exists{}; choose another file with --out, or overwrite it with --restart", file,
              options.empty() ? "" : " and was trained with other options");
}

std::optional<nlohmann::json> finished_meanwhile(const std::string& file, const Configuration& config, bool restart,
                                                 bool several_ranks) {
  auto finished = finished_result(file, config, restart);
  if (finished && several_ranks)
    input_error("{} was finished by another process meanwhile; run the same command again to see its result", file);
  return finished;
}

Configuration for_pictures(Configuration config, uint64_t digest) {
  config.text = fmt::format("picture_digest = \"{:016x}\"\n{}", digest, config.text);
  return config;
}

}  // namespace tributary
