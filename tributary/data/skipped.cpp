#include "tributary/data/skipped.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "tributary/base/error.h"
#include "tributary/base/text.h"
#include "tributary/data/image/decode.h"

namespace fs = std::filesystem;

namespace tributary {
namespace {

// Endings in lower case.
constexpr std::array kPictures = std::to_array<std::string_view>(
    {".apng", ".arw",  ".avif", ".cr2", ".cr3", ".dcm", ".dng", ".emf", ".eps", ".exr", ".fits", ".hdr",
     ".heic", ".heif", ".ico",  ".j2k", ".jp2", ".jpe", ".jpx", ".jxl", ".nef", ".orf", ".pbm",  ".pcx",
     ".pgm",  ".pict", ".pnm",  ".ppm", ".psd", ".raf", ".raw", ".rw2", ".svg", ".tga", ".wmf",  ".xcf"});
constexpr std::array kVideos = std::to_array<std::string_view>(
    {".3gp", ".avi", ".flv", ".m4v", ".mkv", ".mov", ".mp4", ".mpeg", ".mpg", ".mts", ".ogv", ".webm", ".wmv"});
constexpr std::array kDocuments = std::to_array<std::string_view>(
    {".aae",   ".cls",  ".csv", ".db",  ".doc", ".docx", ".htm", ".html", ".idx",  ".ini", ".json",
     ".jsonl", ".log",  ".lst", ".mat", ".md",  ".npy",  ".npz", ".pdf",  ".pkl",  ".py",  ".sh",
     ".tex",   ".toml", ".tsv", ".txt", ".xls", ".xlsx", ".xml", ".xmp",  ".yaml", ".yml"});

template <typename Endings>
bool is_among(const Endings& endings, const std::string& ending) {
  return std::find(endings.begin(), endings.end(), ending) != endings.end();
}

std::string lower_ending(const std::string& path) {
  std::string ending = fs::path(path).extension().string();
  for (char& c : ending) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return ending;
}

}  // namespace

std::optional<SkippedPicture> skipped_by_name(const std::string& path) {
  const std::string ending = lower_ending(path);
  const std::string file = fs::path(path).filename().string();
  if (looks_like_picture_name(path) || is_among(kDocuments, ending)) return std::nullopt;
  if (is_among(kPictures, ending))
    return SkippedPicture{path, fmt::format("{} pictures cannot be read; convert them to JPEG or PNG", ending)};
  if (is_among(kVideos, ending)) return SkippedPicture{path, "a video", /*is_picture=*/false};
  if (ending.empty()) {
    if (file == "LICENSE" || file == "README" || file == "Makefile") return std::nullopt;
    return SkippedPicture{path, "a name without ending; rename it if it is a picture", /*is_picture=*/false};
  }
  return SkippedPicture{path, fmt::format("{} is not the ending of a known picture format", printable(ending, 20)),
                        /*is_picture=*/false};
}

std::optional<SkippedPicture> skipped_file(const std::string& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (fs::is_regular_file(status)) return skipped_by_name(path);
  if (!fs::exists(status)) {
    const bool link = fs::is_symlink(fs::symlink_status(path, error));
    return SkippedPicture{path, link ? "a dangling link" : "cannot be opened"};
  }
  return SkippedPicture{path, "not a file", looks_like_picture_name(path)};
}

size_t unreadable_pictures(const std::vector<SkippedPicture>& skipped) {
  return static_cast<size_t>(
      std::count_if(skipped.begin(), skipped.end(), [](const SkippedPicture& one) { return one.is_picture; }));
}

void check_skipped_share(const std::string& path, const std::vector<SkippedPicture>& bad, size_t total,
                         double max_share) {
  const size_t count = unreadable_pictures(bad);
  if (count == 0) return;
  const SkippedPicture& first =
      *std::find_if(bad.begin(), bad.end(), [](const SkippedPicture& one) { return one.is_picture; });
  if (total == 1) input_error("{}: not a readable picture ({}); replace it", first.path, first.reason);
  if (count == total)
    input_error("none of the {} pictures of {} can be read; check that they are pictures, first {} ({})", total, path,
                first.path, first.reason);
  if (static_cast<double>(count) <= max_share * static_cast<double>(total)) return;
  input_error(
      "{} of {} pictures of {} cannot be read, more than {:g} %; repair or remove them, or raise --max-skipped, first "
      "{} "
      "({})",
      count, total, path, 100 * max_share, first.path, first.reason);
}

}  // namespace tributary
