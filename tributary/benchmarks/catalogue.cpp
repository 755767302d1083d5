#include "tributary/benchmarks/catalogue.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <utility>

#include "tributary/base/error.h"
#include "tributary/base/files.h"
#include "tributary/base/text.h"
#include "tributary/base/toml.h"
#include "tributary/data/digits/digits.h"

namespace fs = std::filesystem;

namespace tributary {
namespace {

// The counts are those of the usual protocol: 25,000 training and 9,000 test pictures per domain, and all of USPS.
Benchmark digit_five() {
  Benchmark b{"digit-five", "Digit-Five", "dtn", Layout::kDigits, 10, true};
  b.source =
      "get Digit-Five at https://github.com/VisionLearningGroup/VisionLearningGroup.github.io/tree/master/M3SDA/"
      "code_MSDA_digit and put its .mat files in one folder, or use one folder DOMAIN per domain with the authors' "
      "files or {train,test}-{images,labels}.idx";
  b.domains = {
      {"mnist", "MN", {"mnist"}, "digit-five", 25000, 9000},
      {"svhn", "SV", {"svhn"}, "digit-five", 25000, 9000},
      {"usps", "US", {"usps"}, "digit-five", 7291, 2007},
      {"mnist_m", "MM", {"mnistm"}, "digit-five", 25000, 9000},
      {"syn", "SY", {"syn", "synth", "syndigits", "synthdigits", "syntheticdigits"}, "digit-five", 25000, 9000},
  };
  b.methods = {
      {"bait", "BAIT", {96.2, 60.6, 96.7, 87.6, 90.5}, 86.3},
      {"sfda", "SFDA", {95.4, 57.4, 95.8, 86.2, 84.8}, 83.9},
      {"shot", "SHOT", {98.9, 58.3, 97.7, 90.4, 83.9}, 85.8},
      {"ma", "MA", {98.4, 59.1, 98.0, 90.8, 84.5}, 86.2},
      {"source-ens", "Source-ens", {96.7, 76.8, 93.8, 66.7, 77.6}, 82.3},
      {"decision", "DECISION", {99.2, 82.6, 97.8, 93.0, 97.5}, 94.0},
      {"caida", "CAiDA", {99.1, 83.3, 98.6, 93.7, 98.1}, 94.6},
      {"selective", "Ours (Surrogate)", {99.2, 90.7, 98.4, 97.4, 98.4}, 96.8},
      {"selective-oracle", "Ours (Selective Oracle)", {99.4, 93.8, 99.0, 98.4, 99.5}, 98.0},
  };
  b.ablations = {
      {"denoise", "w/o denoise", {99.1, 90.2, 98.0, 97.4, 98.2}, 96.6},
      {"weights", "w/o domain weights", {98.9, 88.7, 98.0, 97.1, 95.4}, 95.6},
      {"information", "IM all data", {98.3, 90.4, 97.5, 96.9, 96.0}, 95.8},
      {"alignment", "w/o alignment", {99.1, 90.4, 98.4, 97.3, 98.4}, 96.7},
      {"mixup", "w/o mixup", {99.1, 89.9, 98.3, 96.9, 97.4}, 96.3},
  };
  b.sensitivity = {
      {"0.5", "lambda_alpha = 0.5", {99.2, 90.7, 98.4, 97.4, 98.4}, 96.8},
      {"0.7", "lambda_alpha = 0.7", {99.1, 90.4, 98.6, 97.3, 98.4}, 96.8},
      {"1.0", "lambda_alpha = 1.0", {98.8, 90.6, 98.7, 96.9, 97.1}, 96.4},
  };
  return b;
}

Benchmark office_31() {
  Benchmark b{"office-31", "Office-31", "resnet50", Layout::kClassFolders, 31};
  b.source =
      "get Office-31 at https://faculty.cc.gatech.edu/~judy/domainadapt/ and unpack it to DOMAIN/images/CLASS/ or "
      "DOMAIN/CLASS/";
  b.domains = {
      {"amazon", "A", {"amazon"}, "office-31", 2817},
      {"webcam", "W", {"webcam"}, "office-31", 795},
      {"dslr", "D", {"dslr"}, "office-31", 498},
  };
  b.methods = {
      {"bait", "BAIT", {71.1, 98.5, 98.8}, 89.5},
      {"sfda", "SFDA", {73.2, 93.8, 96.7}, 87.9},
      {"shot", "SHOT", {75.0, 94.9, 97.8}, 89.3},
      {"ma", "MA", {75.2, 96.1, 97.3}, 89.5},
      {"source-ens", "Source-ens", {62.5, 95.8, 98.7}, 86.0},
      {"decision", "DECISION", {75.4, 98.4, 99.6}, 91.1},
      {"caida", "CAiDA", {75.8, 98.9, 99.8}, 91.6},
      {"selective", "Ours (Surrogate)", {77.6, 98.7, 99.8}, 92.0},
      {"selective-oracle", "Ours (Selective Oracle)", {85.5, 99.2, 100.0}, 94.9},
  };
  b.ablations = {
      {"denoise", "w/o denoise", {76.1, 98.5, 99.8}, 91.5},
      {"weights", "w/o domain weights", {76.4, 97.9, 99.8}, 91.4},
      {"information", "IM all data", {74.4, 98.0, 99.4}, 90.6},
      {"alignment", "w/o alignment", {77.2, 98.4, 99.8}, 91.8},
      {"mixup", "w/o mixup", {76.6, 98.9, 99.8}, 91.8},
  };
  b.sensitivity = {
      {"0.5", "lambda_alpha = 0.5", {77.8, 98.2, 99.8}, 91.9},
      {"0.6", "lambda_alpha = 0.6", {77.6, 98.7, 99.8}, 92.0},
      {"0.8", "lambda_alpha = 0.8", {76.4, 98.4, 100.0}, 91.6},
      {"1.0", "lambda_alpha = 1.0", {75.9, 97.7, 100.0}, 91.2},
  };
  return b;
}

Benchmark office_home() {
  Benchmark b{"office-home", "Office-Home", "resnet50", Layout::kClassFolders, 65};
  b.source =
      "get Office-Home at https://www.hemanthdv.org/officeHomeDataset.html and unpack it to DOMAIN/CLASS/, the domains "
      "being Art, Clipart, Real World and Product";
  b.domains = {
      {"art", "A", {"art"}, "office-home/art"},
      {"clipart", "C", {"clipart"}, "office-home/clipart"},
      {"real", "R", {"realworld", "real"}, "office-home/real"},
      {"product", "P", {"product"}, "office-home/product"},
  };
  b.methods = {
      {"bait", "BAIT", {71.1, 59.6, 77.2, 79.4}, 71.8},
      {"sfda", "SFDA", {69.3, 57.5, 76.8, 79.1}, 70.7},
      {"shot", "SHOT", {72.2, 59.3, 82.9, 82.8}, 74.3},
      {"ma", "MA", {72.5, 57.4, 81.7, 82.3}, 73.5},
      {"source-ens", "Source-ens", {67.0, 52.1, 78.6, 74.8}, 68.1},
      {"decision", "DECISION", {74.5, 59.4, 83.6, 84.4}, 75.5},
      {"caida", "CAiDA", {75.2, 60.5, 84.2, 84.7}, 76.2},
      {"nrc", "NRC", {70.6, 60.0, 84.6, 83.5}, 74.7},
      {"selective", "Ours (Surrogate)", {75.6, 62.8, 84.8, 85.3}, 77.1},
      {"selective-oracle", "Ours (Selective Oracle)", {86.9, 85.1, 92.2, 95.7}, 90.0},
  };
  return b;
}

Benchmark domainnet() {
  Benchmark b{"domainnet", "DomainNet", "resnet50", Layout::kLists, 345, true};
  b.source =
      "get DomainNet at https://ai.bu.edu/M3SDA/ and put DOMAIN_train.txt and DOMAIN_test.txt next to the unpacked "
      "folder DOMAIN";
  b.domains = {
      {"clipart", "C", {"clipart"}, "domainnet/clipart"},
      {"infograph", "I", {"infograph"}, "domainnet/infograph"},
      {"painting", "P", {"painting"}, "domainnet/painting"},
      {"quickdraw", "Q", {"quickdraw"}, "domainnet/quickdraw"},
      {"real", "R", {"real"}, "domainnet/real"},
      {"sketch", "S", {"sketch"}, "domainnet/sketch"},
  };
  b.methods = {
      {"bait", "BAIT", {57.5, 22.8, 54.1, 14.7, 64.6, 49.2}, 43.8},
      {"sfda", "SFDA", {57.2, 23.6, 55.1, 16.4, 65.5, 47.3}, 44.2},
      {"shot", "SHOT", {58.6, 25.2, 55.3, 15.3, 70.5, 52.4}, 46.2},
      {"ma", "MA", {56.8, 24.3, 53.5, 15.7, 66.3, 48.1}, 44.1},
      {"source-ens", "Source-ens", {49.4, 20.8, 48.3, 10.6, 63.8, 46.4}, 39.9},
      {"decision", "DECISION", {61.5, 21.6, 54.6, 18.9, 67.5, 51.0}, 45.9},
      {"caida", "CAiDA", {63.6, 20.7, 54.3, 19.3, 71.2, 51.6}, 46.8},
      {"nrc", "NRC", {65.8, 24.1, 56.0, 16.0, 69.2, 53.4}, 47.4},
      {"selective", "Ours (Surrogate)", {66.5, 21.6, 56.7, 20.4, 70.5, 54.4}, 48.4},
      {"selective-oracle", "Ours (Selective Oracle)", {76.5, 32.8, 64.7, 34.6, 77.8, 62.4}, 58.1},
  };
  return b;
}

// Not in the paper, so it has none of its accuracies.
Benchmark pacs() {
  Benchmark b{"pacs", "PACS", "resnet50", Layout::kClassFolders, 7};
  b.source =
      "get PACS at https://dali-dl.github.io/project_iccv2017.html and unpack it to DOMAIN/CLASS/, the domains being "
      "art_painting, cartoon, photo and sketch";
  b.domains = {
      {"art_painting", "A", {"artpainting", "art"}, "pacs", 2048},
      {"cartoon", "C", {"cartoon"}, "pacs", 2344},
      {"photo", "P", {"photo"}, "pacs", 1670},
      {"sketch", "S", {"sketch"}, "pacs", 3929},
  };
  return b;
}

std::vector<Benchmark> all_benchmarks() {
  return {digit_five(), office_31(), office_home(), domainnet(), pacs()};
}

// A benchmark file, for error messages and relative paths.
struct BenchmarkFile {
  std::string path;

  std::string at(const toml::node& node) const { return fmt::format("{}:{}", path, node.source().begin.line); }

  // The strings of a table in the order of `known`; missing ones are empty. Other keys are errors.
  std::vector<std::string> strings(const toml::table& table, const std::vector<std::string>& known) const {
    std::vector<std::string> values(known.size());
    for (const auto& [key, node] : table) {
      const auto found = std::find(known.begin(), known.end(), std::string(key.str()));
      if (found == known.end())
        input_error("{}: unknown key {}; the keys are {}", at(node), printable(key.str()), fmt::join(known, ", "));
      if (!node.is_string() || node.as_string()->get().empty())
        input_error("{}: {} must be a string; write {} = \"...\"", at(node), *found, *found);
      values[static_cast<size_t>(found - known.begin())] = node.as_string()->get();
    }
    return values;
  }

  // Resolves a path relative to the file.
  std::string resolve(const std::string& name) const { return (fs::path(path).parent_path() / name).string(); }
};

// Domain names are used as file names.
bool is_file_name(const std::string& name) {
  return !name.starts_with('.') && name.find('/') == std::string::npos && printable(name, 1000) == name;
}

Domain own_domain(const BenchmarkFile& file, const toml::table& table, const std::vector<Domain>& before) {
  const std::vector<std::string> given = file.strings(table, {"name", "train", "test"});
  if (given[0].empty() || given[1].empty())
    input_error("{}: a domain needs a name and training pictures; write name = \"...\" and train = \"...\"",
                file.at(table));
  if (!is_file_name(given[0]))
    input_error("{}: the domain {} is not a valid file name; choose another name", file.at(table), printable(given[0]));
  for (const Domain& other : before)
    if (other.name == given[0])
      input_error("{}: two domains are named {}; give each a unique name", file.at(table), given[0]);
  Domain domain;
  domain.name = domain.column = given[0];
  domain.train = file.resolve(given[1]);
  domain.test = given[2].empty() ? domain.train : file.resolve(given[2]);
  return domain;
}

}  // namespace

Benchmark drawn_digits(const std::string& folder) {
  Benchmark drawn;
  drawn.name = kDrawnDigits;
  drawn.architecture = "lenet";
  drawn.has_test_part = true;
  for (const std::string& name : digit_domain_names()) {
    Domain domain;
    domain.name = domain.column = name;
    domain.train = folder + "/" + name + "/train-images.idx";
    domain.test = folder + "/" + name + "/test-images.idx";
    drawn.domains.push_back(domain);
  }
  return drawn;
}

std::vector<std::string> benchmark_names() {
  std::vector<std::string> names;
  for (const Benchmark& known : all_benchmarks()) names.push_back(known.name);
  return names;
}

Benchmark benchmark(const std::string& name) {
  if (name.ends_with(".toml")) return read_benchmark(name);
  for (Benchmark& known : all_benchmarks())
    if (known.name == name) return std::move(known);
  const std::vector<std::string> names = benchmark_names();
  const std::string near = nearest(name, names);
  input_error("unknown benchmark {}; {}choose one of {}, or name a .toml file", printable(name),
              near.empty() ? "" : fmt::format("did you mean {}? ", near), fmt::join(names, ", "));
}

Benchmark read_benchmark(const std::string& path) {
  const toml::table root = parse_toml(read_text(path), path);
  const BenchmarkFile file{path};
  for (const auto& [key, node] : root)
    if (key.str() != "benchmark" && key.str() != "domain")
      input_error("{}: unknown key {}; the keys are [benchmark] and [[domain]]", file.at(node), printable(key.str()));
  const toml::table* about = root["benchmark"].as_table();
  const toml::array* domains = root["domain"].as_array();
  if (about == nullptr) input_error("{} has no [benchmark]; add it with a name and an architecture", path);
  Benchmark own;
  const std::vector<std::string> given = file.strings(*about, {"name", "architecture"});
  own.name = given[0].empty() ? fs::path(path).stem().string() : given[0];
  if (!is_file_name(own.name))
    input_error("{}: {} is not a valid file name; choose another name", file.at(*about), printable(own.name));
  if (given[1].empty())
    input_error("{}: [benchmark] has no architecture; write for example architecture = \"resnet50\"", file.at(*about));
  own.title = own.name;
  own.architecture = given[1];
  own.source = "correct the paths in " + path;
  if (domains == nullptr || domains->size() < 2)
    input_error("{} has fewer than two domains; add a [[domain]] with name and train for each", path);
  for (const toml::node& node : *domains) {
    if (!node.is_table()) input_error("{}: domain must be a table; write [[domain]]", file.at(node));
    own.domains.push_back(own_domain(file, *node.as_table(), own.domains));
    own.has_test_part |= own.domains.back().test != own.domains.back().train;
  }
  return own;
}

const Domain& domain_named(const Benchmark& benchmark, const std::string& name) {
  std::vector<std::string> known;
  for (const Domain& domain : benchmark.domains) {
    if (name == domain.name || name == domain.column) return domain;
    known.push_back(domain.name);
  }
  input_error("{} has no domain {}; choose one of {}", benchmark.name, printable(name), fmt::join(known, ", "));
}

std::optional<double> paper_accuracy(const Benchmark& benchmark, const std::vector<PaperRow>& rows,
                                     const std::string& key, const std::string& domain) {
  for (const PaperRow& row : rows)
    for (size_t i = 0; row.key == key && i < row.accuracy.size(); ++i)
      if (benchmark.domains[i].name == domain) return row.accuracy[i];
  return std::nullopt;
}

}  // namespace tributary
