// The benchmarks of the paper by name: what they consist of, where they come from, how their authors distribute them,
// and the accuracies that the paper prints for them.
//
// Everything that runs a benchmark asks here, so that a domain is found, named and ordered alike everywhere. One's own
// domains, written down in a TOML file, are a benchmark like any other, only without figures of the paper. The paper's
// hyper-parameters are with the method (methods/selective/selective_options.cpp); a domain knows their name.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tributary {

// How the pictures of a domain lie on disk.
enum class Layout {
  kDigits,        // as digit_files.h says: IDX, .mat, the authors' files or class folders
  kClassFolders,  // DOMAIN/CLASS/ or DOMAIN/images/CLASS/
  kLists,         // DOMAIN_{train,test}.txt beside the folder DOMAIN
  kPaths,         // as the domain's own `train` and `test` say
};

struct Domain {
  std::string name;                  // in file names and on the command line: "mnist"
  std::string column;                // in the paper's tables: "MN"
  std::vector<std::string> folders;  // what its folder may be called; capitals, blanks, - and _ do not matter
  std::string settings;              // its row of the paper's hyper-parameters, for --benchmark; empty: none
  int64_t train_pictures = 0;        // about as many as are distributed; 0: not known
  int64_t test_pictures = 0;
  std::string train{}, test{};  // of Layout::kPaths
};

// A row of a table of the paper, in percent.
struct PaperRow {
  std::string key;               // a method, a part left out (--ablations) or a value of lambda_alpha
  std::string title;             // as the paper prints it
  std::vector<double> accuracy;  // one a domain, in their order
  double average = 0;            // as printed, which is not always the mean of the others
};

struct Benchmark {
  std::string name;   // "office-31"
  std::string title;  // "Office-31"
  std::string architecture;
  Layout layout = Layout::kPaths;
  int64_t classes = 0;                  // 0: whatever the pictures have
  bool has_test_part = false;           // else figures are about the pictures adapted to
  std::string source{};                 // what to do to get it; half a sentence with its address
  std::vector<Domain> domains{};        // in the paper's order
  std::vector<PaperRow> methods{};      // in the paper's order; NRC has none for digits and Office-31
  std::vector<PaperRow> ablations{};    // empty where the paper has none
  std::vector<PaperRow> sensitivity{};  // to lambda_alpha; empty where the paper has none
};

std::vector<std::string> benchmark_names();

// A benchmark by its name, or of one's own domains by the path of its file (NAME.toml). InputError if it is neither.
Benchmark benchmark(const std::string& name);

// One's own domains: [benchmark] with name and architecture, and a [[domain]] with name, train and perhaps test for
// each. Relative paths begin beside the file.
Benchmark read_benchmark(const std::string& path);

// A domain by its name or its column. InputError that lists them if there is no such domain.
const Domain& domain_named(const Benchmark& benchmark, const std::string& name);

// The figure of a row, or nothing where the paper has no such row or the domain is not of this benchmark.
std::optional<double> paper_accuracy(const Benchmark& benchmark, const std::vector<PaperRow>& rows,
                                     const std::string& key, const std::string& domain);

// Where the pictures of a domain are, as paths that load_images and load_labelled take.
struct DomainData {
  std::string train;
  std::string test;     // equal to `train` where there is no test part
  std::string missing;  // what is not there ("no folder dslr"); empty where all is, and then only are the paths valid
};

// Looks for a domain in the folder `root`, by names alone: no picture is opened. One's own domains say where they are,
// and `root` means nothing.
DomainData locate(const Benchmark& benchmark, const Domain& domain, const std::string& root);

// What a domain really holds.
struct DomainCheck {
  DomainData data;
  int64_t train_pictures = 0, test_pictures = 0;
  std::vector<std::string> classes{};
  std::string problem{};  // empty where all is well
};

// Locates every domain, lists its pictures and compares classes and numbers with what they should be. List files and
// files of many pictures are read throughout; pictures are not decoded.
std::vector<DomainCheck> check_domains(const Benchmark& benchmark, const std::string& root);

}  // namespace tributary
