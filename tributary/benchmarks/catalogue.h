// The catalogue of benchmarks: domains, sources of the data, layouts on disk, and the paper's accuracies.
//
// All commands use this catalogue, so that domains are found, named and ordered consistently. Users can describe their
// own domains in a TOML file, which becomes a benchmark without published accuracies. The paper's hyper-parameters are
// in hyper_parameters.h; a domain refers to its row by name.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tributary {

// How a domain is stored on disk.
enum class Layout {
  kDigits,        // see digit_files.h: IDX, .mat, the authors' files or class folders
  kClassFolders,  // DOMAIN/CLASS/ or DOMAIN/images/CLASS/
  kLists,         // DOMAIN_{train,test}.txt next to the folder DOMAIN
  kPaths,         // the paths in the domain's `train` and `test`
};

struct Domain {
  std::string name;                  // in file names and on the command line: "mnist"
  std::string column;                // in the paper's tables: "MN"
  std::vector<std::string> folders;  // possible folder names; case, spaces, - and _ are ignored
  std::string settings;              // name of the paper's hyper-parameters, for --benchmark; empty: none
  int64_t train_pictures = 0;        // approximate published number; 0: unknown
  int64_t test_pictures = 0;
  std::string train{}, test{};  // for Layout::kPaths
};

// A row of one of the paper's tables, in percent.
struct PaperRow {
  std::string key;               // a method, an ablation (--ablations) or a value of lambda_alpha
  std::string title;             // as in the paper
  std::vector<double> accuracy;  // per domain, in order
  double average = 0;            // as printed; not always the mean of `accuracy`
};

struct Benchmark {
  std::string name;   // "office-31"
  std::string title;  // "Office-31"
  std::string architecture;
  Layout layout = Layout::kPaths;
  int64_t classes = 0;            // 0: any
  bool has_test_part = false;     // otherwise, accuracies are on the pictures adapted to
  std::string source{};           // how to get it, with the URL; a clause for error messages
  std::vector<Domain> domains{};  // in the paper's order
  // In the paper's order. The paper has no NRC for digits and Office-31, and no PACS.
  std::vector<PaperRow> methods{};
  std::vector<PaperRow> ablations{};    // empty if the paper has none
  std::vector<PaperRow> sensitivity{};  // to lambda_alpha; empty if the paper has none
};

// The generated digits as a benchmark. Its pictures lie in `folder`, as `tributary data make digits` writes them.
constexpr const char* kDrawnDigits = "digits";
Benchmark drawn_digits(const std::string& folder);

std::vector<std::string> benchmark_names();

// A benchmark by its name, or by the path of a benchmark file (NAME.toml). Throws an InputError if it is neither.
Benchmark benchmark(const std::string& name);

// Reads a benchmark file: [benchmark] with name and architecture, and one [[domain]] per domain with name, train and
// optionally test. Paths are relative to the file.
Benchmark read_benchmark(const std::string& path);

// A domain by its name or its column. Throws an InputError that lists the domains if there is no such one.
const Domain& domain_named(const Benchmark& benchmark, const std::string& name);

// The accuracy of a row; nullopt if the paper has no such row or the benchmark no such domain.
std::optional<double> paper_accuracy(const Benchmark& benchmark, const std::vector<PaperRow>& rows,
                                     const std::string& key, const std::string& domain);

// The paths of a domain's pictures, for load_images and load_labelled.
struct DomainData {
  std::string train;
  std::string test;     // equal to `train` if there is no test part
  std::string missing;  // "no folder dslr"; the paths are valid only if this is empty
};

// Searches for a domain in the folder `root` by names, without opening pictures. `root` is ignored for benchmark files,
// which contain the paths.
DomainData locate(const Benchmark& benchmark, const Domain& domain, const std::string& root);

// The contents of a domain on disk.
struct DomainCheck {
  DomainData data;
  int64_t train_pictures = 0, test_pictures = 0;
  std::vector<std::string> classes{};
  std::string problem{};  // empty if there is none
};

// Locates every domain, lists its pictures and compares classes and counts with the expected ones. List files and
// packed files are read completely; pictures are not decoded.
std::vector<DomainCheck> check_domains(const Benchmark& benchmark, const std::string& root);

}  // namespace tributary
