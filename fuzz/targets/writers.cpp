// Fuzzes the writers of safetensors, PyTorch files and ONNX (io/*_writer.h).
//
// The input is a safetensors file whose tensors and metadata are exported. Written tensors must round-trip. Writers may
// throw an InputError only for text that is not UTF-8.
#include <algorithm>

#include "fuzz/input.h"
#include "tributary/io/onnx_writer.h"
#include "tributary/io/pytorch_file.h"
#include "tributary/io/pytorch_writer.h"

using namespace tributary;

namespace {

void require_equal(const std::vector<TensorEntry>& written, const std::vector<TensorEntry>& read) {
  fuzz::require(written.size() == read.size(), "a wrong number of tensors");
  for (const TensorEntry& tensor : written) {
    const auto found =
        std::find_if(read.begin(), read.end(), [&](const TensorEntry& r) { return r.name == tensor.name; });
    fuzz::require(found != read.end() && found->dtype == tensor.dtype && found->shape == tensor.shape &&
                      std::equal(found->data.begin(), found->data.end(), tensor.data.begin(), tensor.data.end()),
                  "a tensor that does not round-trip: " + printable(tensor.name));
  }
}

void write_onnx(const SafetensorsFile& file) {
  OnnxGraph graph("graph");
  graph.input("input", DType::F32, {OnnxDimension("batch"), 3});
  graph.node("Identity", {"input"}, {}, "echo");  // a graph needs an output, even without tensors
  graph.output("echo", DType::F32, {OnnxDimension("batch"), 3});
  for (const TensorEntry& entry : file.entries()) {
    graph.constant("constant " + entry.name, entry.dtype, entry.shape, entry.data);
    graph.node("Identity", {"constant " + entry.name}, {}, "result " + entry.name);
    graph.output("result " + entry.name, entry.dtype, {entry.shape.begin(), entry.shape.end()});
  }
  for (const auto& [key, value] : file.metadata()) graph.metadata(key, value);
  graph.write("/dev/null");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const fuzz::Folder folder;
  fuzz::read_or_reject([&] {
    const SafetensorsFile file = SafetensorsFile::parse({data, data + size}, "input");
    const std::string safetensors = folder.path() + "/written.safetensors";
    write_safetensors(safetensors, file.entries(), file.metadata());
    const SafetensorsFile again = SafetensorsFile::read(safetensors);
    require_equal(file.entries(), again.entries());
    fuzz::require(file.metadata() == again.metadata(), "metadata that do not round-trip");

    write_onnx(file);

    // The reader removes a prefix "module." that all tensors share, and rejects files without tensors.
    const auto& entries = file.entries();
    const auto prefixed = [](const TensorEntry& entry) { return entry.name.starts_with("module."); };
    if (std::all_of(entries.begin(), entries.end(), prefixed)) return;
    const std::string pytorch = folder.path() + "/written.pt";
    write_state_dict(pytorch, entries);
    require_equal(entries, PytorchFile::read(pytorch).entries());
  });
  return 0;
}
