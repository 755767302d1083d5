#include "tributary/api/picture_input.h"

namespace tributary {

LabelledImages load_labelled(const Pictures& pictures, const LoadOptions& load, const std::vector<std::string>& classes,
                             std::vector<SkippedPicture>* skipped) {
  return pictures.in_memory() ? load_labelled_array(pictures.array(), pictures.labels(), load, classes)
                              : load_labelled(pictures.path(), load, classes, skipped);
}

ImageSet load_images(const Pictures& pictures, const LoadOptions& load, std::vector<SkippedPicture>* skipped) {
  return pictures.in_memory() ? load_array(pictures.array(), load) : load_images(pictures.path(), load, skipped);
}

}  // namespace tributary
