// Fuzzes the files of a finished run (artefacts/run_folder.h, report/history.h, report/report_data.h): the first byte
// chooses the file whose content the others replace.
#include <array>

#include "fuzz/program.h"
#include "tributary/artefacts/run_folder.h"
#include "tributary/base/files.h"
#include "tributary/report/report_page.h"

using namespace tributary;

namespace {

constexpr std::array kFiles = {"config.toml", "summary.json", "metrics.jsonl", "history/run.json",
                               "history/0001.safetensors"};

// A run with its files as they should be.
struct Run {
  Run() {
    save_source(folder.path() + "/a.safetensors", fuzz::small_model(1));
    const std::string target = fuzz::write_digits(folder, 8);
    const int code = fuzz::run_program({"adapt", "--source", folder.path() + "/a.safetensors", "--target", target,
                                        "--rounds", "1", "--inner-epochs", "1", "--batch", "4", "--no-report",
                                        "--no-leave-dominated", "--run", path()});
    fuzz::require(code == 0, "the run to be fuzzed failed");
    for (const char* file : kFiles) good.push_back(read_text(path() + "/" + file));
  }
  std::string path() const { return folder.path() + "/run"; }

  fuzz::Folder folder;
  std::vector<std::string> good;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const Run run;
  if (size == 0) return 0;
  const size_t chosen = data[0] % kFiles.size();
  run.folder.write("run/" + std::string(kFiles[chosen]), fuzz::text_of(data + 1, size - 1));
  fuzz::read_or_reject([] {
    ReportOptions quick;
    quick.embedded_rounds = 0;
    quick.bound = false;
    report_page(report_data({run.path()}, quick));
  });
  fuzz::read_or_reject([] { target_of_run(run.path()); });
  fuzz::read_or_reject([] {
    const RunFolder folder(run.path(), run.good[0]);
    if (folder.finished()) folder.summary();
  });
  run.folder.write("run/" + std::string(kFiles[chosen]), run.good[chosen]);
  return 0;
}
