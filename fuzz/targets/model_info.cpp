// Fuzzes model descriptions of single models and mixtures (io/model_info.h). Accepted ones must round-trip.
#include "tributary/io/model_info.h"
#include "fuzz/input.h"

using namespace tributary;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string given(fuzz::text_of(data, size));
  fuzz::read_or_reject([&] {
    const std::string text = to_json(model_info_from_json(given, "input"));
    fuzz::require(to_json(model_info_from_json(text, "input")) == text, "a description that does not round-trip");
  });
  fuzz::read_or_reject([&] { fuzz::require(!model_infos_from_json(given, "input").empty(), "an empty mixture"); });
  return 0;
}
