#include "tributary/run/round_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "tributary/base/text.h"

namespace tributary {
namespace {

std::string mean_text(const std::vector<double>& values) {
  if (values.empty()) return {};
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
  return fmt::format("{:.2f}", mean);
}

std::string percent_text(double share) {
  return percent(share) + " %";
}

// One line of right-aligned cells.
template <typename Cells, typename Text>
std::string line_of(const Cells& cells, Text text) {
  std::string line;
  for (const auto& cell : cells) {
    const int64_t width = std::max(cell.least, display_width(cell.title));
    line.append(line.empty() ? 0 : 2, ' ');
    line.append(static_cast<size_t>(std::max<int64_t>(0, width - display_width(text(cell)))), ' ');
    line += text(cell);
  }
  return line;
}

}  // namespace

std::vector<RoundTable::Cell> RoundTable::cells_of(const RoundEvent& event, const std::string& changed,
                                                   std::optional<double> accuracy) const {
  const bool trained = event.round > 0;
  std::vector<Cell> cells = {{"round", std::to_string(event.round), 0}};
  if (event.score.defined()) {
    const int64_t confident = event.trained ? event.trained->confident.size(0) : event.initial_confident;
    const auto share =
        static_cast<double>(confident) / static_cast<double>(event.rows.total(event.probabilities.size(0)));
    cells.push_back({"confident", thousands(confident), 0});
    cells.push_back({"share", percent_text(share), 7});
    cells.push_back({"CE", mean_text(event.losses.cross_entropy), 5});
    cells.push_back({"IM", mean_text(event.losses.information), 5});
    const std::string adversarial = event.losses.aligned ? fmt::format("{:.2f}", event.losses.adversarial) : "-";
    if (event.alignment) cells.push_back({"align", trained ? adversarial : "", 0});
  }
  for (const auto& [name, means] : event.means) cells.push_back({name, mean_text(means), 5});
  const double speed = trained ? static_cast<double>(event.pictures) / event.phases.training : 0;
  cells.push_back({"changed", changed, 0});
  if (accuracy) cells.push_back({"accuracy", percent_text(*accuracy), 0});
  cells.push_back({"pictures/s", trained ? thousands(static_cast<int64_t>(speed)) : "", 0});
  cells.push_back({"time", duration(event.seconds), 8});
  return cells;
}

std::vector<std::string> RoundTable::add(const RoundEvent& event, std::optional<double> accuracy) {
  const Tensor predicted = figures_of(event).label;
  std::string changed;
  if (predicted_.defined()) changed = percent_text((predicted != predicted_).to(torch::kFloat64).mean().item<double>());
  predicted_ = predicted;
  if (!event.score.defined() && event.round == 0) return {};

  const std::vector<Cell> cells = cells_of(event, changed, accuracy);
  std::vector<std::string> lines;
  const std::string titles = line_of(cells, [](const Cell& cell) { return cell.title; });
  if (titles != titles_) lines.push_back(titles);
  titles_ = titles;
  lines.push_back(line_of(cells, [](const Cell& cell) { return cell.text; }));
  if (event.alignment && event.trained && !event.losses.aligned && !explained_) {
    lines.push_back(fmt::format("{:>5}  align is -: too few unconfident pictures for a batch ({})", "",
                                thousands(event.trained->unconfident.size(0))));
    explained_ = true;
  }
  return lines;
}

}  // namespace tributary
