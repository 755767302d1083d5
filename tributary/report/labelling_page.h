// A page for labelling pictures in a browser, with the keyboard: the front end (web/) with thumbnails and classes.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "tributary/data/image_set.h"
#include "tributary/data/label_file.h"

namespace tributary {

struct LabellingTask {
  std::string name;                  // of the run
  std::string file;                  // the labels' file, which the page offers to save
  std::vector<std::string> classes;  // of the models
  std::vector<LabelRow> rows;        // what to label; existing labels are shown
  std::vector<int64_t> pictures;     // positions of the rows in the target set
  std::vector<std::string>
      guesses;  // the model's class per row; empty in an audit, where a guess would bias the answer
};

// The data of the page, which report_page() embeds.
nlohmann::json labelling_page(const LabellingTask& task, const ImageSet& images);

}  // namespace tributary
