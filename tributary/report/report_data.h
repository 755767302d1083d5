// The data of a report: one JSON object that describes a run, shown by web/.
//
// All data comes from the run folder, so that a report can be made again at any time, with labels that the adaptation
// never saw. Unknown values are null or missing.
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
  bool all_points = false;      // also embeds all stored pictures of the last round
  bool bound = true;            // estimates the terms of the bound
  int64_t gallery = 24;         // pictures per group
  int threads = 0;
};

void declare(OptionTable& table, ReportOptions& options);

// The run that a report describes.
struct ReportSubject {
  std::string run;
  const ImageSet* pictures = nullptr;  // the target set, for the gallery
  std::optional<Labels> truth{};       // of the target set
  std::string truth_name{};            // its path
};

nlohmann::json report_data(const ReportSubject& subject, const ReportOptions& options);

// The time of creation (UTC) and the versions, as pairs, for the foot of every page.
std::string time_text();
nlohmann::json versions(const std::string& device = "");

// The true labels, int64 [n]; undefined if unknown. InputError if their number is not that of the run's pictures.
Tensor truth_of(const ReportSubject& subject, const History& history);

// The input of the parts of a report. Each part has its own file.
struct ReportParts {
  const History& history;
  Tensor truth;  // int64 [n]; undefined if labels are unknown
};

// "bound" of every round, in the order of the history, null if it has none; and "bound_notes". Only methods that train
// on confident pseudo-labels have a bound.
struct ReportBound {
  std::vector<nlohmann::json> rounds;
  std::vector<std::string> notes;
};
ReportBound report_bound(const ReportParts& parts);
// The rounds of `data` that have a bound, as objects with the terms, "round" and, if labels are known, the mixture's
// "error".
std::vector<nlohmann::json> bound_log(const nlohmann::json& data);
// "rounds", from metrics.jsonl (one object per line) and the history.
nlohmann::json report_rounds(const ReportParts& parts, const std::vector<nlohmann::json>& metrics);
// "per_class" and "confusion".
nlohmann::json report_classes(const ReportParts& parts);
nlohmann::json report_confusion(const ReportParts& parts);
// "embedding": t-SNE of some rounds. Each one starts from the positions of the one before.
Tensor evenly_spread(int64_t count, int64_t points);                  // at most `points` of 0 .. count - 1
Tensor places_of(const RoundHistory& round, const Tensor& pictures);  // in its sample; both ascending
nlohmann::json report_embedding(const ReportParts& parts, const ReportOptions& options);
// "gallery".
nlohmann::json report_gallery(const ReportParts& parts, const ImageSet& pictures, int64_t count);

}  // namespace tributary
