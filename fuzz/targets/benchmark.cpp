// Fuzzes benchmark files (benchmarks/catalogue.h).
//
// Accepted names must be valid file names, because the runs of a table are folders with these names.
#include "fuzz/input.h"
#include "tributary/benchmarks/catalogue.h"

using namespace tributary;

namespace {

void require_file_name(const std::string& name) {
  fuzz::require(std::filesystem::path(name).filename() == name && name != "." && name != "..",
                "a name that is not a file name: " + name);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const fuzz::Folder folder;
  const std::string path = folder.write("own.toml", fuzz::text_of(data, size));
  fuzz::read_or_reject([&] {
    const Benchmark own = read_benchmark(path);
    require_file_name(own.name);
    for (const Domain& domain : own.domains) {
      require_file_name(domain.name);
      fuzz::require(domain_named(own, domain.name).train == domain.train, "a domain that is not found by its name");
    }
  });
  return 0;
}
