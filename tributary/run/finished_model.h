// Model files of finished trainings: a finished result is never overwritten unasked.
//
// The rule is that of run folders. The same command again reports the finished model; a command with other options is
// refused; --restart overwrites. A model holds a digest of the options it was trained with, not the options themselves,
// because their paths would travel with a model that is passed on.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "tributary/base/options.h"
#include "tributary/model/source_model.h"

namespace tributary {

// Writes a model with a record of its training. `result` is handed back by finished_result().
void save_finished(const std::string& file, const SourceModel& model, const Configuration& config,
                   const nlohmann::json& result);

// The result of a finished training with these options, or nothing if there is no file, or if an unfinished training
// has left its checkpoints beside it. Throws an InputError if the file is anything else.
std::optional<nlohmann::json> finished_result(const std::string& file, const Configuration& config, bool restart);

// The same under the lock of the checkpoints: another process may have finished the training since the file was
// examined. Throws an InputError then if there are several ranks, because the others have begun to train.
std::optional<nlohmann::json> finished_meanwhile(const std::string& file, const Configuration& config, bool restart,
                                                 bool several_ranks);

// The configuration of a training's checkpoints: a checkpoint of pictures with another digest (ImageSet::digest)
// belongs to another training.
Configuration for_pictures(Configuration config, uint64_t digest);

}  // namespace tributary
