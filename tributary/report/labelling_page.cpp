#include "tributary/report/labelling_page.h"

#include <nlohmann/json.hpp>

#include "tributary/base/csv.h"
#include "tributary/report/report_data.h"
#include "tributary/report/thumbnail.h"

namespace tributary {

nlohmann::json labelling_page(const LabellingTask& task, const ImageSet& images) {
  constexpr int kSide = 256;
  nlohmann::json data = {{"schema", 1},
                         {"kind", "labels"},
                         {"name", task.name},
                         {"file", task.file},
                         {"created", time_text()},
                         {"versions", versions()},
                         {"classes", task.classes},
                         {"audit", task.guesses.empty()}};
  data["class_cells"] = nlohmann::json::array();
  for (const std::string& name : task.classes) data["class_cells"].push_back(csv_field(name));
  data["pictures"] = nlohmann::json::array();
  for (size_t i = 0; i < task.rows.size(); ++i) {
    const LabelRow& row = task.rows[i];
    nlohmann::json picture = {
        {"path", row.picture}, {"thumb", thumbnail(images, task.pictures[i], kSide)}, {"label", row.label}};
    // The row as the file has it, without its label: the page writes the same cells again.
    picture["cells"] = {csv_field(row.picture), drawn_text(row)};
    if (!task.guesses.empty()) picture["guess"] = task.guesses[i];
    data["pictures"].push_back(picture);
  }
  return data;
}

}  // namespace tributary
