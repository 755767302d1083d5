// Draws the paper's t-SNE figure: confident and unconfident pictures with true labels and pseudo-labels.
#pragma once

#include <string>

#include "tributary/report/report_data.h"

namespace tributary {

// Writes STEM.svg and STEM.png: t-SNE of the joint features before any training, with the unconfident set D_u and the
// confident set D_l of the first round side by side. The upper panels show true labels, if known, the lower panels
// pseudo-labels. Throws an InputError if the program was built without Cairo or the run has no confident set.
void write_tsne_figure(const ReportSubject& subject, const ReportOptions& options, const std::string& stem);

}  // namespace tributary
