#include <unistd.h>

#include <map>

#include "cli/command.h"
#include "tributary/base/error.h"
#include "tributary/base/print.h"
#include "tributary/base/text.h"
#include "tributary/data/image/decode.h"
#include "tributary/run/adaptation_run.h"
#include "tributary/run/models.h"

namespace tributary::cli {

void report_skipped(const std::string& command, const std::vector<SkippedPicture>& skipped, int64_t total) {
  constexpr int64_t kNamed = 5;       // per reason
  constexpr size_t kMaxReasons = 20;  // of which pictures are named
  std::map<std::string, int64_t> by_reason;
  int64_t count = 0, unnamed = 0;
  for (const SkippedPicture& picture : skipped) {
    ++count;
    const bool known = by_reason.size() < kMaxReasons || by_reason.contains(picture.reason);
    if (!known || ++by_reason[picture.reason] > kNamed) {
      ++unnamed;
      continue;
    }
    print_message(fmt::format("tributary {}: skipped {}: {} ({} of {} files)", command, printable(picture.path, 300),
                              picture.reason, thousands(count), thousands(total)));
  }
  if (unnamed == 0) return;
  std::string reasons;
  for (const auto& [reason, all] : by_reason)
    if (all > kNamed) reasons += fmt::format("{}{}: {}", reasons.empty() ? "" : "; ", reason, thousands(all));
  print_message(fmt::format("tributary {}: skipped {} more, {} of {} files in all{}", command, thousands(unnamed),
                            thousands(count), thousands(total), reasons.empty() ? "" : " (" + reasons + ")"));
}

Ensemble load_named_models(const std::string& command, const std::vector<std::string>& models, const std::string& rule,
                           const ImportOptions& options) {
  std::vector<std::string> notices;
  for (const std::string& model : models)
    if (looks_like_picture_name(model))
      input_error("{} is a picture, not a model; name the folder of the pictures, or a list file, with --data", model);
  Ensemble ensemble = load_models(models, rule, options, &notices);
  for (const std::string& notice : notices) print_message(fmt::format("tributary {}: {}", command, notice));
  return ensemble;
}

void print_report_line(const AdaptationRunOptions& options) {
  if (!options.outputs.page || !options.outputs.history) return;
  print(fmt::format("report       {}/report.html\n", safe_line(options.folder)));
}

bool is_terminal() {
  return isatty(STDERR_FILENO) != 0;
}

}  // namespace tributary::cli
