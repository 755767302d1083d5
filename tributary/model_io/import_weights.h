// Checkpoints of others as sources: a state dictionary in, a `SourceModel` out.
//
// Read are a torchvision classifier (its last layer becomes the frozen classifier, that layer's input the features) and
// a folder with the research scripts' source_F.pt, source_B.pt and source_C.pt. Such files say nothing about classes,
// picture sizes or normalisation, so the user may; the rest is what the architecture was published with.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tributary/base/options.h"
#include "tributary/io/tensor_file.h"
#include "tributary/model/source_model.h"

namespace tributary {

enum class Aspect { kStretch, kKeep };
enum class StrideChoice { kAuto, kIn3x3, kIn1x1 };

// What a checkpoint does not say about itself.
struct ImportOptions {
  std::string architecture;  // empty: recognised by its tensors
  std::string classes;       // text file, a class name a line; empty: numbered
  int64_t size = 0;          // 0: the architecture's own
  int64_t resize = 0;
  Aspect aspect = Aspect::kStretch;
  std::string mean, deviation;  // "0.485,0.456,0.406"; empty: the architecture's own
  StrideChoice stride = StrideChoice::kAuto;
  bool ignore_extra = false;  // tensors that the architecture does not have
  bool trust = false;         // TorchScript is code
  std::string last_layer;     // of a TorchScript module without the methods `features` and `classify`
};

// Declares those about the network and the way pictures are prepared for it, in the section [model].
void declare_network(OptionTable& table, ImportOptions& options);
// Declares all of them.
void declare(OptionTable& table, ImportOptions& options);

// How pictures are prepared for `network` with what the options say otherwise.
void apply_framing(const ImportOptions& options, const Architecture& network, ModelInfo& info);

// A state dictionary and how it fits a network of ours.
struct WeightFile {
  std::vector<TensorFile> files;
  ModelInfo info;                        // of the model it makes
  std::vector<std::string> missing;      // tensors that the network needs, under our names
  std::vector<std::string> left_over;    // tensors that it does not have, under theirs
  std::vector<const TensorEntry*> fits;  // one for each tensor of the network's state, null where missing
};

// Whether `path` is a folder with the three files of the research scripts.
bool is_triplet(const std::string& path);

// The tensors fit no network we know.
class UnknownNetwork : public InputError {
 public:
  using InputError::InputError;
};

// Reads a file or a triplet's folder. Throws UnknownNetwork where it belongs to no network of ours.
WeightFile read_weights(const std::string& path, const ImportOptions& options);

// The model; an InputError that says what is missing, left over, of another shape or not finite.
SourceModel import_source(const std::string& path, const ImportOptions& options);

// Loads the backbone of `weights`, which was read from `path`, whatever it classifies. `model` must be of its
// architecture.
void import_backbone(const WeightFile& weights, const std::string& path, SourceModel& model);

// A TorchScript file as a source, for those who trust it.
SourceModel import_script(const std::string& path, const ImportOptions& options);

// The entry's values as float32, or int64 for counters. An InputError names `file` if they are not finite.
Tensor tensor_of(const TensorEntry& entry, const std::string& file);

}  // namespace tributary
