#include "tributary/data/digits/usps_text.h"

#include <charconv>
#include <filesystem>
#include <optional>
#include <string_view>

#include "tributary/base/error.h"
#include "tributary/data/archive/gzip_file.h"

namespace tributary {
namespace {

constexpr int kSide = 16;
constexpr size_t kNumbers = 1 + kSide * kSide;
constexpr size_t kMaxLine = 16384;      // bytes; several times the length of a picture
constexpr int64_t kMaxLines = 100'000;  // ten times the size of the set

// Reads lines of at most kMaxLine + 1 bytes.
class Lines {
 public:
  explicit Lines(const std::string& path) : file_(path) {}

  // False at the end of the file.
  bool next(std::string& line) {
    line.clear();
    bool any = false;
    while (line.size() <= kMaxLine && fill()) {
      any = true;
      const char c = static_cast<char>(buffer_[at_++]);
      if (c == '\n') break;
      line += c;
    }
    return any;
  }

 private:
  bool fill() {
    if (at_ < buffer_.size()) return true;
    buffer_.resize(kMaxLine);
    buffer_.resize(file_.read(buffer_.data(), buffer_.size()));
    at_ = 0;
    return !buffer_.empty();
  }

  MaybeGzipFile file_;
  std::vector<uint8_t> buffer_;
  size_t at_ = 0;
};

// The numbers of a line, at most kNumbers + 1; nullopt if there is other text.
std::optional<std::vector<double>> numbers_of(std::string_view line) {
  constexpr std::string_view kBlank = " \t\r";
  std::vector<double> numbers;
  while (numbers.size() <= kNumbers) {
    line.remove_prefix(std::min(line.size(), line.find_first_not_of(kBlank)));
    if (line.empty()) break;
    double value = 0;
    const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), value);
    if (error != std::errc()) return std::nullopt;
    line.remove_prefix(static_cast<size_t>(end - line.data()));
    if (!line.empty() && kBlank.find(line.front()) == std::string_view::npos) return std::nullopt;
    numbers.push_back(value);
  }
  return numbers;
}

// Describes the error of a line; empty if it is valid.
std::string problem_of(const std::optional<std::vector<double>>& numbers) {
  if (!numbers) return "is not all numbers";
  if (numbers->size() != kNumbers)
    return fmt::format("has {} numbers instead of a label and 16 x 16 pixels",
                       numbers->size() > kNumbers ? "too many" : std::to_string(numbers->size()));
  const double label = numbers->front();
  if (!(label >= 0 && label <= 9 && label == static_cast<int>(label)))
    return fmt::format("has the label {}, which is not a digit", label);
  for (size_t i = 1; i < kNumbers; ++i)
    if (!((*numbers)[i] >= -1 && (*numbers)[i] <= 1))
      return fmt::format("has a pixel of {}, which is not in -1 .. 1", (*numbers)[i]);
  return {};
}

}  // namespace

UspsText read_usps_text(const std::string& path) {
  UspsText digits;
  digits.images = {0, kSide, kSide, 1, {}};
  Lines lines(path);
  int64_t number = 0;
  for (std::string line; lines.next(line);) {
    if (++number > kMaxLines) input_error("{} has more than {} lines; name a file of USPS", path, kMaxLines);
    const auto numbers = numbers_of(line);
    if (numbers && numbers->empty()) continue;
    if (const std::string problem = problem_of(numbers); !problem.empty())
      input_error("{} line {} {}; download or copy the file again", path, number, problem);
    digits.labels.push_back(static_cast<uint8_t>(numbers->front()));
    for (size_t i = 1; i < kNumbers; ++i)
      digits.images.bytes.push_back(static_cast<uint8_t>(((*numbers)[i] + 1) / 2 * 255 + 0.5));
  }
  digits.images.count = static_cast<int64_t>(digits.labels.size());
  if (digits.labels.empty()) input_error("{} is empty; name a file with data", path);
  return digits;
}

bool is_usps_text(const std::string& path) {
  const std::string name = std::filesystem::path(path).filename().string();
  for (const char* known : {"zip.train", "zip.test", "zip.train.gz", "zip.test.gz"})
    if (name == known) return true;
  try {
    Lines lines(path);
    std::string line;
    return lines.next(line) && problem_of(numbers_of(line)).empty();
  } catch (const InputError&) {
    return false;
  }
}

}  // namespace tributary
