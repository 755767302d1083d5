// One source as the user names it: FILE, or FILE:OPTION=VALUE,OPTION=VALUE.
//
// Weights of other programs lack class names, picture size and normalisation. Options such as --classes give them for
// all sources; those after the file give them for one, because checkpoints of different origin differ in them.
#pragma once

#include <string>

#include "tributary/io/score_file.h"
#include "tributary/model_io/import_weights.h"

namespace tributary {

struct SourceSpec {
  std::string path;
  std::string name;                     // in tables; empty: the model's own
  ImportOptions options;                // those of all sources, overridden by those of this one
  bool own_classes = false;             // whether this source has its own list of class names
  ScoreKind scores = ScoreKind::kAuto;  // what the columns of a score file are
  std::string describing =
      {};  // one of its own options that only weights of other programs take, as "size"; empty: none is given
};

// Parses `text`, where an existing path is taken as it is. Throws an InputError that starts with `text` if an option is
// unknown or has a value that is not allowed.
SourceSpec parse_source(const std::string& text, const ImportOptions& common);

}  // namespace tributary
