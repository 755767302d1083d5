// Imports weights that other programs trained as a `SourceModel`.
//
// Supported are torchvision classifiers (the last layer becomes the frozen classifier, its input the features) and
// folders with source_F.pt, source_B.pt and source_C.pt of the research scripts. Such files do not contain class names,
// picture size or normalisation, so options give them; the defaults are those that the architecture was published with.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tributary/base/options.h"
#include "tributary/io/tensor_file.h"
#include "tributary/model/source_model.h"
#include "tributary/model_io/match_network.h"

namespace tributary {

enum class Aspect { kStretch, kKeep };
enum class InterpolationChoice { kAuto, kBilinear, kBicubic };
enum class StrideChoice { kAuto, kIn3x3, kIn1x1 };

// Properties of a model that a state dictionary does not contain.
struct ImportOptions {
  std::string architecture;  // empty: detected from the tensors
  std::string classes;       // text file with one class name per line; empty: classes are numbered
  int64_t size = 0;          // 0: the architecture's default
  int64_t resize = 0;
  Aspect aspect = Aspect::kStretch;
  InterpolationChoice interpolation = InterpolationChoice::kAuto;  // auto: the architecture's default
  std::string mean, deviation;  // "0.485,0.456,0.406"; empty: the architecture's default
  StrideChoice stride = StrideChoice::kAuto;
  bool ignore_extra = false;  // accept tensors that the architecture does not have
  bool trust = false;         // load TorchScript, which is code
  bool trusts_specs = false;  // `trust` may also follow a source: its text comes from code, not from a TOML file
  std::string last_layer;     // of a TorchScript module without the methods `features` and `classify`
};

// The class names of a text file, one per line. Throws an InputError if one occurs twice.
std::vector<std::string> read_class_names(const std::string& path);

// The flag of the first option that is given and describes weights of other programs, as "--size"; empty if none is.
// TorchScript's --trust and --last-layer are not among them.
std::string describing_flag(const ImportOptions& options);

// Declares the options for architecture and preprocessing, in the section [model].
void declare_network(OptionTable& table, ImportOptions& options);
// Declares all options.
void declare(OptionTable& table, ImportOptions& options);

// Sets preprocessing, normalisation and stride of `info` to the defaults of `network`, overridden by `options`.
void apply_preprocessing(const ImportOptions& options, const Architecture& network, ModelInfo& info);

// A state dictionary and its mapping to one of our architectures.
struct WeightFile {
  std::vector<TensorFile> files;
  ModelInfo info;                        // description of the imported model
  std::vector<std::string> missing;      // tensors that the architecture needs and the file lacks, under our names
  std::vector<std::string> left_over;    // tensors that the architecture does not have, under their names in the file
  std::vector<const TensorEntry*> fits;  // one per tensor of the model's state, null if missing
  NetworkMatch match;                    // owns entries that were joined from several tensors
};

// Whether `path` is a folder with source_F.pt of the research scripts.
bool is_triplet(const std::string& path);

// The tensors match no known architecture.
class UnknownNetwork : public InputError {
 public:
  using InputError::InputError;
};

// Reads a file or the folder of a triplet. Throws UnknownNetwork if the architecture cannot be detected.
WeightFile read_weights(const std::string& path, const ImportOptions& options);

// Imports a model. Throws an InputError if tensors are missing, left over, of another shape or non-finite.
SourceModel import_source(const std::string& path, const ImportOptions& options);

// Copies the backbone of `weights`, which was read from `path`, into `model`, and ignores the classifier. `model` must
// have the same architecture.
void import_backbone(const WeightFile& weights, const std::string& path, SourceModel& model);

// Imports a TorchScript file. Throws an InputError unless `options.trust` is set.
SourceModel import_script(const std::string& path, const ImportOptions& options);

// Throws an InputError that names `file` if layers of the model would divide by zero or take the root of a negative
// number: negative variances, zero rows under weight normalisation. Remembers the file in the model.
void require_usable(SourceModel& source, const std::string& file);

// The entry's values as float32, or int64 for counters. Throws an InputError that names `file` if any is non-finite.
Tensor tensor_of(const TensorEntry& entry, const std::string& file);

}  // namespace tributary
