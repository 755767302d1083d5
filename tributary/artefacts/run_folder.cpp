#include "tributary/artefacts/run_folder.h"

#include <fmt/ranges.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tributary/artefacts/run_summary.h"
#include "tributary/base/error.h"
#include "tributary/base/files.h"
#include "tributary/base/json_text.h"
#include "tributary/base/staged_folder.h"
#include "tributary/base/toml.h"

namespace tributary {

namespace fs = std::filesystem;
namespace {

// Every file and folder of a run, but for the curves of TensorBoard.
constexpr const char* kOwnNames[] = {"config.toml",
                                     "metrics.jsonl",
                                     "model.safetensors",
                                     "unadapted.safetensors",
                                     "predictions.csv",
                                     "summary.json",
                                     "history",
                                     "report.html",
                                     "bound.jsonl",
                                     "checkpoint",
                                     "given_labels.csv",
                                     "estimate",
                                     "DONE"};

// The lines of the rounds before `round`, without a truncated last line.
std::string metrics_before(const std::string& path, int64_t round) {
  std::error_code error;
  if (!fs::exists(path, error)) return {};
  std::stringstream lines(read_text(path));
  std::string kept;
  for (std::string line; std::getline(lines, line);) {
    const auto object = nlohmann::json::parse(line, nullptr, /*allow_exceptions=*/false);
    const auto found = object.is_object() ? object.find("round") : object.end();
    if (object.is_object() && found != object.end() && found->is_number_integer() && found->get<int64_t>() < round)
      kept += line + "\n";
  }
  return kept;
}

}  // namespace

RunFolder::RunFolder(std::string path, Configuration config, bool restart)
    : path_(std::move(path)), config_(std::move(config)), restart_(restart) {
  examine();
}

void RunFolder::examine() {
  std::error_code error;
  if (!fs::exists(path_, error)) {
    require_writable_target(path_);
    return;
  }
  if (!fs::is_directory(path_, error)) input_error("{} is a file; choose a folder for the run with --run", path_);
  for (const char* own : kOwnNames) refuse_link(file(own));
  if (fs::exists(file("config.toml"), error)) refuse_links_in_run(path_);
  // A run writes config.toml before all other files, so a folder that another process fills between these lines has
  // one.
  const bool empty = is_empty_folder(path_);
  if (!fs::exists(file("config.toml"), error)) {
    if (!empty) input_error("{} contains files that are not a run; choose another folder with --run", path_);
    require_writable_target(file("config.toml"));
    return;
  }
  if (restart_) return;
  finished_ = fs::exists(file("DONE"), error);
  const auto lines = run_differences(path_, config_);
  if (!lines.empty())
    input_error("{} holds another run ({}); choose another folder, or overwrite it with --restart", path_,
                fmt::join(lines, "; "));
}

void RunFolder::lock() {
  lock_ = std::make_unique<FolderLock>(path_);
  examine();  // another process may have finished the run, or started another one, since the folder was examined
  remove_leftovers(path_);
  remove_leftovers(file("history"));
}

void RunFolder::claim() {
  if (!lock_) lock();
  TRIBUTARY_CHECK(!finished_, "{} holds a finished run", path_);
  // Removes the results of an earlier run, which are written at the end.
  std::error_code error;
  for (const char* last : {"DONE", "summary.json", "model.safetensors", "unadapted.safetensors", "predictions.csv",
                           "bound.jsonl", "given_labels.csv"})
    fs::remove(file(last), error);
  write_file_atomically(file("config.toml"), config_.text);
}

void RunFolder::start(int64_t round) {
  claim();
  write_file_atomically(file("metrics.jsonl"), round > 0 ? metrics_before(file("metrics.jsonl"), round) : "");
  metrics_ = std::ofstream(file("metrics.jsonl"), std::ios::app);
  if (!metrics_) work_error("cannot write {}; check the folder and the disk", file("metrics.jsonl"));
}

void RunFolder::require_there() const {
  if (lock_ && !lock_->holds(path_))
    work_error("{} was removed or replaced during the run; start the run again", path_);
}

void RunFolder::add_metrics(const nlohmann::json& object) {
  require_there();
  metrics_ << json_text(object) << '\n' << std::flush;
  if (!metrics_) work_error("cannot write {}; free some space and run the same command again", file("metrics.jsonl"));
}

void RunFolder::add_summary(const nlohmann::json& summary) {
  write_file_atomically(file("summary.json"), json_text(summary, 2) + "\n");
}

void RunFolder::finish() {
  require_there();
  write_file_atomically(file("DONE"), "");
  finished_ = true;
}

nlohmann::json RunFolder::summary() const {
  try {
    nlohmann::json summary = nlohmann::json::parse(read_text(file("summary.json"), kMostJson));
    if (finished_) run_summary_text(summary);  // checks every value that is shown
    return summary;
  } catch (const nlohmann::json::exception&) {
    input_error("{} is damaged; remove {} and run again", file("summary.json"), path_);
  }
}

void refuse_links_in_run(const std::string& path) {
  std::error_code error;
  for (fs::directory_iterator it(path, error), end; !error && it != end; it.increment(error))
    refuse_link(it->path().string());
  for (const char* folder : {"history", "checkpoint", "estimate"}) refuse_links_below(path + "/" + folder);
}

std::vector<std::string> run_differences(const std::string& path, const Configuration& config) {
  std::error_code error;
  if (!fs::exists(path + "/config.toml", error)) return {};
  auto lines = differences(read_text(path + "/config.toml"), config);
  // By default they are the cores of the machine, which need not be those of the run.
  if (fs::exists(path + "/DONE", error))
    std::erase_if(lines, [](const std::string& line) { return line.starts_with("threads: "); });
  return lines;
}

std::string target_of_run(const std::string& path) {
  const std::string file = path + "/config.toml";
  std::error_code error;
  if (!fs::exists(file, error)) input_error("{} is not a run folder (no config.toml); name a run folder", path);
  return parse_toml(read_text(file), file)["target"].value_or(std::string());
}

std::string model_path(const std::string& path) {
  std::error_code error;
  if (!fs::is_directory(path, error) || fs::exists(path + "/source_F.pt", error)) return path;
  if (!fs::exists(path + "/config.toml", error))
    input_error("{} is not a run folder (no config.toml); name a run folder or a model file", path);
  if (!fs::exists(path + "/DONE", error))
    input_error("{} is unfinished; run the same adapt command again to resume it", path);
  return path + "/model.safetensors";
}

}  // namespace tributary
