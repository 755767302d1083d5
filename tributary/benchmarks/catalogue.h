// The paper's benchmarks by name: their domains, sources and layouts, and the accuracies that the paper reports.
//
// All code that runs a benchmark asks here, so that a domain is found, named and ordered in the same way everywhere. A
// TOML file describes a benchmark of the user's own domains, which has no accuracies from the paper. The paper's
// hyper-parameters are in hyper_parameters.h; a domain knows the name of its row.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tributary {

// Layout of a domain's pictures on disk.
enum class Layout {
  kDigits,        // as digit_files.h says: IDX, .mat, the authors' files or class folders
  kClassFolders,  // DOMAIN/CLASS/ or DOMAIN/images/CLASS/
  kLists,         // DOMAIN_{train,test}.txt beside the folder DOMAIN
  kPaths,         // at the paths `train` and `test` of the domain
};

struct Domain {
  std::string name;                  // in file names and on the command line: "mnist"
  std::string column;                // in the paper's tables: "MN"
  std::vector<std::string> folders;  // accepted folder names; case, blanks, - and _ are ignored
  std::string settings;              // its row of the hyper-parameters, for --benchmark; empty: none
  int64_t train_pictures = 0;        // approximate number in the distributed files; 0: unknown
  int64_t test_pictures = 0;
  std::string train{}, test{};  // of Layout::kPaths
};

// A row of a table of the paper, in percent.
struct PaperRow {
  std::string key;               // a method, a part left out (--ablations) or a value of lambda_alpha
  std::string title;             // as the paper prints it
  std::vector<double> accuracy;  // per domain, in the order of the domains
  double average = 0;            // as printed; not always the mean of the row
};

struct Benchmark {
  std::string name;   // "office-31"
  std::string title;  // "Office-31"
  std::string architecture;
  Layout layout = Layout::kPaths;
  int64_t classes = 0;                  // 0: those of the pictures
  bool has_test_part = false;           // if not, accuracies are those on the pictures adapted to
  std::string source{};                 // how to get it, as half a sentence with the address
  std::vector<Domain> domains{};        // in the paper's order
  std::vector<PaperRow> methods{};      // in the paper's order; NRC has none for digits and Office-31
  std::vector<PaperRow> ablations{};    // empty if the paper has none
  std::vector<PaperRow> sensitivity{};  // to lambda_alpha; empty if the paper has none
};

// The generated digits as a benchmark. Its pictures lie in `folder`, as `tributary data make digits` writes them.
constexpr const char* kDrawnDigits = "digits";
Benchmark drawn_digits(const std::string& folder);

std::vector<std::string> benchmark_names();

// A benchmark by its name, or by the path of a TOML file (NAME.toml). InputError for other names.
Benchmark benchmark(const std::string& name);

// Reads a benchmark from a TOML file: [benchmark] with name and architecture, and for every domain a [[domain]] with
// name, train and optionally test. Relative paths start at the file's folder.
Benchmark read_benchmark(const std::string& path);

// A domain by its name or column. InputError with the known names if there is no such domain.
const Domain& domain_named(const Benchmark& benchmark, const std::string& name);

// The accuracy in a row, or nothing if the paper has no such row or the benchmark no such domain.
std::optional<double> paper_accuracy(const Benchmark& benchmark, const std::vector<PaperRow>& rows,
                                     const std::string& key, const std::string& domain);

// The location of a domain's pictures, as paths for load_images and load_labelled.
struct DomainData {
  std::string train;
  std::string test;     // equal to `train` if there is no test part
  std::string missing;  // what was not found ("no folder dslr"); the paths are valid only if this is empty
};

// Finds a domain in the folder `root` by file names; opens no picture. `root` is ignored for Layout::kPaths.
DomainData locate(const Benchmark& benchmark, const Domain& domain, const std::string& root);

// The actual contents of a domain.
struct DomainCheck {
  DomainData data;
  int64_t train_pictures = 0, test_pictures = 0;
  std::vector<std::string> classes{};
  std::string problem{};  // empty if there is none
};

// Locates every domain, lists its pictures and compares classes and counts with the expected ones. Reads list files and
// archives completely, but decodes no picture.
std::vector<DomainCheck> check_domains(const Benchmark& benchmark, const std::string& root);

}  // namespace tributary
