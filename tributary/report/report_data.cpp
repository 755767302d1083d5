#include "tributary/report/report_data.h"

#include <torch/version.h>

#include <algorithm>
#include <filesystem>
#include <sstream>

#include "tributary/base/error.h"
#include "tributary/base/files.h"
#include "tributary/base/json_number.h"
#include "tributary/base/process.h"
#include "tributary/base/text.h"
#include "tributary/base/toml.h"
#include "tributary/methods/registry.h"
#include "tributary/version.h"

namespace tributary {
namespace {

std::vector<nlohmann::json> read_metrics(const std::string& path) {
  std::vector<nlohmann::json> rounds;
  std::istringstream lines(read_text(path));
  for (std::string line; std::getline(lines, line);) {
    nlohmann::json round = nlohmann::json::parse(line, nullptr, /*allow_exceptions=*/false);
    const bool cut = lines.eof();  // a run that was killed may not have written the last line in full
    if (!round.is_object() && cut) break;
    if (!round.is_object()) input_error("{} is damaged in line {}; repeat the run", path, rounds.size() + 1);
    rounds.push_back(std::move(round));
  }
  return rounds;
}

std::string value_text(const toml::node& node) {
  std::ostringstream text;
  node.visit([&](const auto& value) { text << value; });
  return text.str();
}

// "adapt.rounds" and "20" for every option of the run, in alphabetical order.
nlohmann::json configuration(const toml::table& config) {
  nlohmann::json rows = nlohmann::json::array();
  for (const auto& [key, node] : config) {
    if (const toml::table* const section = node.as_table()) {
      for (const auto& [inner, value] : *section)
        rows.push_back({fmt::format("{}.{}", key.str(), inner.str()), value_text(value)});
    } else {
      rows.push_back({std::string(key.str()), value_text(node)});
    }
  }
  return rows;
}

std::string title_of(const std::string& method) {
  for (const MethodEntry& entry : registered_methods()) {
    if (entry.name == method) return entry.title;
    if (entry.oracle && entry.oracle->name == method) return entry.oracle->title;
  }
  return method;
}

// The order of the configuration is that of the sources, unless some are scores; those come last.
nlohmann::json sources_of(const History& history, const toml::table& config, const nlohmann::json& summary) {
  nlohmann::json sources = nlohmann::json::array();
  const toml::array* const files = config["source"].as_array();
  const nlohmann::json known = summary.value("sources", nlohmann::json::array());
  for (size_t j = 0; j < history.sources.size(); ++j) {
    const toml::node* const given = files && files->size() == history.sources.size() ? files->get(j) : nullptr;
    const std::string file = j < known.size() ? known[j].value("file", std::string())
                             : given          ? given->value_or(std::string())
                                              : std::string();
    sources.push_back({{"name", history.sources[j]}, {"file", file}});
  }
  return sources;
}

void add_test_accuracies(nlohmann::json& rounds, const nlohmann::json& summary) {
  if (!summary.contains("accuracy")) return;
  const nlohmann::json& percents = summary.at("accuracy").at("rounds");
  for (size_t i = 0; i < std::min(rounds.size(), percents.size()); ++i)
    rounds[i]["test_accuracy"] = percents[i].get<double>() / 100;
}

// Adds the bound to the rounds and returns its notes.
std::vector<std::string> add_bound(nlohmann::json& rounds, const ReportParts& parts, bool wanted) {
  const ReportBound bound = wanted ? report_bound(parts) : ReportBound();
  for (size_t i = 0; i < rounds.size(); ++i) rounds[i]["bound"] = wanted ? bound.rounds[i] : nlohmann::json();
  return bound.notes;
}

}  // namespace

std::string time_text() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  return fmt::format("{:04}-{:02}-{:02} {:02}:{:02} UTC", parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday,
                     parts.tm_hour, parts.tm_min);
}

nlohmann::json versions(const std::string& device) {
  const auto pair = [](const char* name, const std::string& version) { return nlohmann::json::array({name, version}); };
  nlohmann::json all = nlohmann::json::array({pair("tributary", kVersion), pair("LibTorch", TORCH_VERSION)});
  if (!device.empty()) all.push_back(pair("device", device));
  return all;
}

Tensor truth_of(const ReportSubject& subject, const History& history) {
  if (!subject.truth) return {};
  const int64_t n = history.rounds.front().label.size(0);
  if (static_cast<int64_t>(subject.truth->values.size()) != n)
    input_error("{} has {} labels for the {} pictures that {} adapted to; give the labels of the same pictures",
                subject.truth_name, thousands(static_cast<int64_t>(subject.truth->values.size())), thousands(n),
                subject.run);
  return torch::tensor(subject.truth->values, torch::kInt64);
}

void declare(OptionTable& table, ReportOptions& options) {
  const std::string section = "report";
  table.integer(section, "points", &options.points, 2, 1000000, "pictures in the feature plot (t-SNE)").transient();
  table
      .integer(section, "embedded_rounds", &options.embedded_rounds, 0, 1000,
               "rounds in the feature plot, with the first and the last; 0: no plot")
      .transient();
  table.flag(section, "all_points", &options.all_points, "also plot the features of all pictures in the last round")
      .transient();
  table.integer(section, "gallery", &options.gallery, 0, 10000, "pictures per group in the gallery").transient();
}

namespace {

// Notes on classes that one source alone knows, at most kMost of them.
void add_lone_classes(nlohmann::json& notes, const History& history) {
  constexpr size_t kMost = 50;
  size_t count = 0;
  for (const auto& [name, sources] : history.known_by) {
    if (sources.size() != 1 || ++count > kMost) continue;
    notes.push_back(fmt::format("Class {}: {} alone knows it, so no other source confirms these predictions", name,
                                sources.front()));
  }
  if (count > kMost) notes.push_back(fmt::format("{} more classes are known to one source alone", count - kMost));
}

// Notes on pictures that were skipped, at most kMost of them.
void add_skipped(nlohmann::json& notes, const nlohmann::json& summary) {
  constexpr size_t kMost = 50;
  const bool old = summary.contains("set_aside");  // the keys of 0.1
  const auto count = whole_number(summary, old ? "set_aside" : "skipped", 0);
  if (count == 0) return;
  notes.push_back(fmt::format("{} file{} could not be read and {} skipped", thousands(count), count == 1 ? "" : "s",
                              count == 1 ? "was" : "were"));
  const nlohmann::json pictures =
      summary.value(old ? "set_aside_pictures" : "skipped_pictures", nlohmann::json::array());
  for (size_t i = 0; i < std::min(kMost, pictures.size()); ++i)
    notes.push_back(fmt::format("{}: {}", pictures[i].at("picture").get<std::string>(),
                                pictures[i].at("reason").get<std::string>()));
  if (pictures.size() > kMost) notes.push_back("more are listed in predictions.csv");
}

// Throws an exception of the JSON library if the files of the run have other values than it wrote.
nlohmann::json collected(const ReportSubject& subject, const ReportOptions& options) {
  const History history = read_history(subject.run);
  const int64_t n = history.rounds.front().label.size(0);
  if (subject.pictures && subject.pictures->size() != n)
    input_error("{} adapted to {} pictures, but there are {} now; restore them or make the report without pictures",
                subject.run, thousands(n), thousands(subject.pictures->size()));
  const std::string config_path = subject.run + "/config.toml";
  const toml::table config = parse_toml(read_text(config_path), config_path);
  const bool finished = std::filesystem::exists(subject.run + "/summary.json");
  const nlohmann::json summary =
      finished ? nlohmann::json::parse(read_text(subject.run + "/summary.json", RunFolder::kMostJson))
               : nlohmann::json::object();
  ReportParts parts{history, truth_of(subject, history)};
  if (summary.contains("kept"))
    for (const RoundHistory& round : history.rounds)
      if (round.round == whole_number(summary.at("kept").at("round"))) parts.result = &round;
  RoundHistory result = *parts.result;
  if (finished && history.result_confidence.defined()) result.confidence = history.result_confidence;

  parts.result = &result;

  const std::string method = summary.value("method", config["adapt"]["method"].value_or(std::string("selective")));
  nlohmann::json rounds = report_rounds(parts, read_metrics(subject.run + "/metrics.jsonl"));
  add_test_accuracies(rounds, summary);
  const std::vector<std::string> bound_notes = add_bound(rounds, parts, options.bound);
  const std::string config_file = shell_word(subject.run + "/config.toml");
  nlohmann::json data = {{"schema", 1},
                         {"kind", "run"},
                         {"name", std::filesystem::path(subject.run).filename().string()},
                         {"method", method},
                         {"title", title_of(method)},
                         {"created", time_text()},
                         {"command", fmt::format("tributary adapt --config {} --run NEW", config_file)},
                         {"finished", finished},
                         {"versions", versions(history.device)},
                         {"config", configuration(config)},
                         {"classes", history.classes},
                         {"sources", sources_of(history, config, summary)},
                         {"pictures", n},
                         {"labels", nullptr},
                         {"test", nullptr},
                         {"rounds", rounds},
                         {"bound_notes", bound_notes},
                         {"per_class", report_classes(parts)},
                         {"confusion", report_confusion(parts)},
                         {"embedding", nullptr},
                         {"notes", nlohmann::json::array()}};
  if (parts.truth.defined()) data["labels"] = subject.truth_name;
  for (const char* key : {"estimate", "verdict", "confidence"})
    if (summary.contains(key)) data[key] = summary.at(key);
  if (summary.contains("accuracy")) data["test"] = config["test"].value_or(std::string());
  if (options.embedded_rounds > 0) data["embedding"] = report_embedding(parts, options);
  if (subject.pictures) data["gallery"] = report_gallery(parts, *subject.pictures, options.gallery);
  add_skipped(data["notes"], summary);
  add_lone_classes(data["notes"], history);
  if (parts.result->round != history.rounds.back().round)
    data["kept"] = {{"round", parts.result->round}, {"reason", summary.at("kept").at("reason")}};
  if (summary.contains("collapse"))
    for (const nlohmann::json& sign : summary.at("collapse").at("signs"))
      data["notes"].push_back(fmt::format("This adaptation may have made things worse: {}", sign.get<std::string>()));
  return data;
}

}  // namespace

nlohmann::json report_data(const ReportSubject& subject, const ReportOptions& options) {
  try {
    return collected(subject, options);
  } catch (const nlohmann::json::exception& error) {
    input_error("the files of the run {} are damaged ({}); repeat the run", subject.run, printable(error.what()));
  }
}

}  // namespace tributary
