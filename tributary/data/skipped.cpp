#include "tributary/data/skipped.h"

#include "tributary/base/error.h"

namespace tributary {

void check_skipped_share(const std::string& path, const std::vector<SkippedPicture>& bad, size_t total,
                         double max_share) {
  if (bad.empty()) return;
  if (total == 1) input_error("{}: not a readable picture ({}); replace it", bad[0].path, bad[0].reason);
  if (bad.size() == total)
    input_error("none of the {} pictures of {} can be read; check that they are pictures, first {} ({})", total, path,
                bad[0].path, bad[0].reason);
  if (static_cast<double>(bad.size()) <= max_share * static_cast<double>(total)) return;
  input_error("{} of {} pictures of {} cannot be read, more than {:g} %; repair or remove them, first {} ({})",
              bad.size(), total, path, 100 * max_share, bad[0].path, bad[0].reason);
}

}  // namespace tributary
