// The options of a model that is loaded: device, pictures, and the description of imported weights.
#pragma once

#include <string>

#include "tributary/base/options.h"
#include "tributary/model_io/import_weights.h"
#include "tributary/run/command_options.h"

namespace tributary {

struct ModelSetup {
  CommonOptions common;
  DataOptions data;
  ImportOptions import;
  std::string rule;
  OptionTable table;

  ModelSetup() {
    common.declare(table);
    table.text("", "rule", &rule, "combination of several models: mean_prob, mean_logit or vote");
    data.declare(table);
    declare(table, import);
  }
};

}  // namespace tributary
