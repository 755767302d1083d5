// The paper's figure of features: confident and unconfident pictures, with true and with pseudo-labels.
#pragma once

#include <string>

#include "tributary/report/report_data.h"

namespace tributary {

// Writes STEM.svg and STEM.png: t-SNE of what the sources make of the target set before any training, the unconfident
// part D_u and the confident part D_l of the first round side by side, labelled with the truth (where it is known)
// above and with pseudo-labels below. An InputError where the program was built without Cairo, or the run has no
// confident part.
void write_tsne_figure(const ReportSubject& subject, const ReportOptions& options, const std::string& stem);

}  // namespace tributary
