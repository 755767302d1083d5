// The data of a report as one JSON object, which the front end in web/ shows.
//
// All data comes from the run folder, so a report can be made again at any time, with labels that the adaptation never
// saw. Unknown values are null or left out.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "tributary/base/options.h"
#include "tributary/data/image_set.h"
#include "tributary/report/history.h"

namespace tributary {

struct ReportOptions {
  int64_t points = 2000;        // per embedding
  int64_t embedded_rounds = 5;  // including the first and the last; 0: no embedding
  bool all_points = false;      // also embed all stored pictures of the last round
  bool bound = true;            // estimate the terms of the bound
  int64_t gallery = 24;         // pictures per gallery section
  int threads = 0;
};

void declare(OptionTable& table, ReportOptions& options);

// The run that a report describes.
struct ReportSubject {
  std::string run;                     // run folder
  const ImageSet* pictures = nullptr;  // target set, for the gallery; may be null
  std::optional<Labels> truth{};       // labels of the target set
  std::string truth_name{};            // where the labels come from
};

nlohmann::json report_data(const ReportSubject& subject, const ReportOptions& options);

// Creation time (UTC), and versions as [name, version] pairs, for every page.
std::string time_text();
nlohmann::json versions(const std::string& device = "");

// The subject's labels, int64 [n], or undefined. Throws an InputError if their number is not that of the run.
Tensor truth_of(const ReportSubject& subject, const History& history);

// Input of the functions below, each of which is in its own file.
struct ReportParts {
  const History& history;
  Tensor truth;  // int64 [n]; undefined without labels
  // The round whose predictions are the result of the run: the kept one, or the last of an unfinished run.
  const RoundHistory* result = &history.rounds.back();
};

// "bound" of every round, in the order of the history, or null; and "bound_notes". Only methods that train on confident
// pseudo-labels have a bound.
struct ReportBound {
  std::vector<nlohmann::json> rounds;
  std::vector<std::string> notes;
};
ReportBound report_bound(const ReportParts& parts);
// The bounds of all rounds of `data` that have one: the terms, "round" and, with labels, the "error" of the mixture.
std::vector<nlohmann::json> bound_log(const nlohmann::json& data);
// "rounds", from the lines of metrics.jsonl and the history.
nlohmann::json report_rounds(const ReportParts& parts, const std::vector<nlohmann::json>& metrics);
// "per_class" and "confusion".
nlohmann::json report_classes(const ReportParts& parts);
nlohmann::json report_confusion(const ReportParts& parts);
// At most `points` indices of 0 .. count - 1, evenly spaced.
Tensor evenly_spread(int64_t count, int64_t points);
// The rows of `pictures`, ascending, in the features of a round.
Tensor feature_rows(const RoundHistory& round, const Tensor& pictures);
// "embedding": t-SNE of a few rounds, each initialised with the previous one.
nlohmann::json report_embedding(const ReportParts& parts, const ReportOptions& options);
// "gallery".
nlohmann::json report_gallery(const ReportParts& parts, const ImageSet& pictures, int64_t count);

}  // namespace tributary
