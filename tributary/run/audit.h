// Measures the accuracy of a run by the labels of an audit sample.
//
// `tributary suggest --random` draws the sample before anybody knows a label. Only then, and if no picture is left out
// because it is hard, the share of right predictions estimates the accuracy on all pictures without bias.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tributary/data/label_file.h"
#include "tributary/run/predictions.h"

namespace tributary {

struct AuditResult {
  int64_t labelled = 0, right = 0;
  int64_t drawn = 0;    // pictures in the file
  int64_t trained = 0;  // labelled pictures that do not count, because the run trained on their labels
};

// Compares the labels of `rows`, of the file `path`, with the run's predictions, which are in the order of the target
// set. Pictures in `trained` do not count, and those whose label is none of `classes` are wrong. Throws an InputError
// if the file is no audit sample of these pictures, a picture without a label was drawn before one that has a label, or
// a label looks like a mistyped class.
AuditResult audit_of(const std::vector<LabelRow>& rows, const std::string& path,
                     const std::vector<StoredPrediction>& predictions, std::vector<std::string> classes,
                     const std::vector<std::string>& trained);

}  // namespace tributary
