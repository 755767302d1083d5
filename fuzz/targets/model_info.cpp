// Any text as a model file's description of its model, or of a mixture's models (io/model_info.h). An InputError
// refuses what makes no sense; what is accepted must read back as the same text.
#include "tributary/io/model_info.h"
#include "fuzz/input.h"

using namespace tributary;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string given(fuzz::text_of(data, size));
  fuzz::read_or_refuse([&] {
    const std::string text = to_json(model_info_from_json(given, "input"));
    fuzz::require(to_json(model_info_from_json(text, "input")) == text, "a description that does not read back");
  });
  fuzz::read_or_refuse([&] { fuzz::require(!model_infos_from_json(given, "input").empty(), "a mixture of nothing"); });
  return 0;
}
