// The trained sources of benchmark tables, each in a folder named after everything it depends on.
//
//   FOLDER/street-seed0-1f0c9a3be27d5586/source.json        what it depends on
//   FOLDER/street-seed0-1f0c9a3be27d5586/model.safetensors  the source, as soon as it is trained
//
// Rows of a table are comparable only if they start from the same sources. Tables that train sources in the same way
// find each other's here, and a source that differs in any respect has another name.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace tributary {

// What a source depends on, by name: {"architecture", "resnet50"}, {"data", digest of its pictures}, …
using SourceRecipe = std::map<std::string, std::string>;

// FNV-1a of the bytes, 16 hexadecimal digits.
std::string digest_of(std::string_view bytes);
// The digest of a file's content.
std::string file_digest(const std::string& path);
// The digest of labelled pictures, wherever they lie: names, labels and sizes of files, or the content of packed files.
std::string data_digest(const std::string& path);

// A trained source or one to be trained.
struct StoredSource {
  std::string domain;
  int64_t seed = 0;
  std::string folder, model;  // the file is in the folder
  SourceRecipe recipe{};

  bool trained() const;
};

// The source of `domain` and `seed` in a store. Domain and seed are part of the recipe's digest.
StoredSource stored_source(const std::string& store, const std::string& domain, int64_t seed, SourceRecipe recipe);

// Writes source.json and calls `train`, which writes the model. If another process is training this source, waits for
// it instead. Returns whether `train` was called.
bool train_stored(const StoredSource& source, const std::function<void()>& train);

// The rows of a table folder whose finished runs start from different versions of one source.
struct MixedSources {
  std::string source;                               // "street-seed0"
  std::map<std::string, std::set<std::string>> of;  // digest to keys of rows
};

// Compares the sources of all finished runs in FOLDER/runs, named ROW-TARGET-seedN, with targets in `domains`. Empty if
// all runs share their sources.
std::vector<MixedSources> mixed_sources(const std::string& folder, const std::vector<std::string>& domains);
// One sentence about them; empty if there are none.
std::string mixed_sources_text(const std::string& folder, const std::vector<MixedSources>& mixed);

}  // namespace tributary
