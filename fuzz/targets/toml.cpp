// Fuzzes option files in TOML (base/options.h), for a table with an option of every kind, and the comparison of two
// configurations. Accepted options must round-trip.
#include "fuzz/input.h"
#include "tributary/base/options.h"

using namespace tributary;

namespace {

enum class Kind { kPlain, kFancy };

struct Options {
  int64_t rounds = 20;
  double rate = 0.01;
  bool quick = false;
  Kind kind = Kind::kPlain;
  std::string target;
  std::vector<std::string> sources;
  OptionTable table;

  Options() {
    table.text("", "target", &target, "");
    table.texts("", "sources", &sources, "");
    table.integer("adapt", "rounds", &rounds, 1, 1000, "");
    table.number("adapt", "rate", &rate, 0, 1, "");
    table.flag("train", "quick", &quick, "");
    table.choice("train", "kind", &kind, {{"plain", Kind::kPlain}, {"fancy", Kind::kFancy}}, "");
  }
};

std::string read_and_written(std::string_view text) {
  Options options;
  options.table.read_toml_text(text, "input");
  options.table.apply_toml();
  for (const char* key : {"target", "sources", "rounds", "rate", "quick", "kind"}) options.table.given(key);
  return options.table.to_toml();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(fuzz::text_of(data, size));
  fuzz::read_or_reject([&] {
    const std::string written = read_and_written(text);
    fuzz::require(read_and_written(written) == written, "options that do not round-trip: " + written);
    fuzz::require(differences(written, written).empty(), "a configuration that differs from itself");
  });
  fuzz::read_or_reject([&] {
    for (const std::string& line : differences(text, Options().table.to_toml())) fuzz::require_printable(line);
  });
  return 0;
}
