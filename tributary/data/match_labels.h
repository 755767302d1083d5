// Matches the labels of one data set to the pictures of another.
//
// Labels of the target pictures often come as a copy: sorted into class folders, renamed, or listed in another order.
// Pairing by position would mislabel them without notice, so pictures are matched by name or content, or refused.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tributary/data/image_set.h"

namespace tributary {

enum class LabelMatch { kSameNames, kContent, kFileNames };

struct MatchedLabels {
  Labels labels;  // in the order of the pictures
  LabelMatch by = LabelMatch::kSameNames;
};

// The pictures that need labels.
struct PicturesToLabel {
  std::string path;                           // for messages
  const std::vector<std::string>& names;      // per picture
  std::function<const ImageSet*()> pictures;  // loads them, preprocessed like the labelled set; null if it cannot
};

// The label of every picture of `wanted` in `labelled`, the pictures of `labels_path`. A picture is found by the first
// of these that finds all of them: its name as given; its pixels; its path below the common folder of its set; its file
// name, if unique in both sets. Pictures that are not wanted are ignored. Throws an InputError if none finds all
// pictures, or a picture has two labels.
MatchedLabels match_labels(const PicturesToLabel& wanted, const LabelledImages& labelled,
                           const std::string& labels_path);

}  // namespace tributary
