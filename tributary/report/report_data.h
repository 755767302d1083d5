// The data of a report: what happened in a run, as one JSON object, which web/ shows.
//
// Everything comes from the run folder, so that a report can be made again at any time, with labels that the adaptation
// never saw. What is not known is null or left out, never made up.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "tributary/base/options.h"
#include "tributary/data/image_set.h"
#include "tributary/report/history.h"

namespace tributary {

struct ReportOptions {
  int64_t points = 2000;        // of an embedding
  int64_t embedded_rounds = 5;  // first and last among them; 0: no embedding
  bool all_points = false;      // embeds every kept picture in the last round, too
  bool bound = true;            // estimates the terms of the bound
  int64_t gallery = 24;         // pictures of a kind
  int threads = 0;
};

void declare(OptionTable& table, ReportOptions& options);

// What a report is about.
struct ReportSubject {
  std::string run;
  const ImageSet* pictures = nullptr;  // the target set, for the gallery
  std::optional<Labels> truth{};       // of the target set
  std::string truth_name{};            // where it comes from
};

nlohmann::json report_data(const ReportSubject& subject, const ReportOptions& options);

// What every page says of itself: when it was made (UTC), and of which versions, as pairs.
std::string time_text();
nlohmann::json versions(const std::string& device = "");

// The subject's labels, int64 [n], undefined where they are not known; an InputError where they are not of this run.
Tensor truth_of(const ReportSubject& subject, const History& history);

// The parts of it, each in its own file.
struct ReportParts {
  const History& history;
  Tensor truth;  // int64 [n]; undefined where labels are not known
};

// "bound" of every round, in the order of the history, null where it has none; and "bound_notes". Only methods that
// train on confident pseudo-labels have a bound.
struct ReportBound {
  std::vector<nlohmann::json> rounds;
  std::vector<std::string> notes;
};
ReportBound report_bound(const ReportParts& parts);
// The rounds of `data` that have a bound, as objects: the terms, "round" and, where labels are known, the mixture's
// "error".
std::vector<nlohmann::json> bound_log(const nlohmann::json& data);
// "rounds", from metrics.jsonl (an object a line) and the history.
nlohmann::json report_rounds(const ReportParts& parts, const std::vector<nlohmann::json>& metrics);
// "per_class" and "confusion".
nlohmann::json report_classes(const ReportParts& parts);
nlohmann::json report_confusion(const ReportParts& parts);
// "embedding": t-SNE of a few rounds, each beginning where the one before ended.
Tensor evenly_spread(int64_t count, int64_t points);                  // at most `points` of 0 .. count - 1
Tensor places_of(const RoundHistory& round, const Tensor& pictures);  // in its sample; both ascending
nlohmann::json report_embedding(const ReportParts& parts, const ReportOptions& options);
// "gallery".
nlohmann::json report_gallery(const ReportParts& parts, const ImageSet& pictures, int64_t count);

}  // namespace tributary
