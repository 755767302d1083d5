// Shared by the fuzz targets that run the whole program: small models and pictures, and calls in this process.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "cli/program.h"
#include "fuzz/input.h"
#include "tributary/base/random.h"
#include "tributary/data/digits/digits.h"
#include "tributary/data/digits/idx.h"
#include "tributary/data/listing.h"
#include "tributary/model_io/model_file.h"

namespace tributary::fuzz {

// Sends what the program prints to nowhere: libFuzzer writes to standard error, too.
class Quiet {
 public:
  Quiet() : out_(::dup(STDOUT_FILENO)), err_(::dup(STDERR_FILENO)) {
    const int nothing = ::open("/dev/null", O_WRONLY);
    ::dup2(nothing, STDOUT_FILENO);
    ::dup2(nothing, STDERR_FILENO);
    ::close(nothing);
  }
  ~Quiet() {
    ::dup2(out_, STDOUT_FILENO);
    ::dup2(err_, STDERR_FILENO);
    ::close(out_);
    ::close(err_);
  }
  Quiet(const Quiet&) = delete;
  Quiet& operator=(const Quiet&) = delete;

 private:
  int out_, err_;
};

// Runs `tributary WORDS` and returns its exit code.
inline int run_program(std::vector<std::string> words) {
  words.insert(words.begin(), "tributary");
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  const Quiet quiet;
  return cli::run_program(static_cast<int>(arguments.size()), arguments.data());
}

inline SourceModel small_model(uint64_t seed) {
  return SourceModel(fresh_info("lenet", "lenet", numbered_classes(10)), Random(seed));
}

// Writes drawn digits and returns the path of the pictures.
inline std::string write_digits(const Folder& folder, int64_t count) {
  const LabelledImages data = make_digits(DigitDomain::kPostal, count, /*seed=*/1);
  write_idx_images(folder.path() + "/target-images.idx", data.images);
  write_idx_labels(folder.path() + "/target-labels.idx", data.labels);
  return folder.path() + "/target-images.idx";
}

}  // namespace tributary::fuzz
