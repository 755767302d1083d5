#include "tributary/experiments/decode_speed.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>

// jpeglib.h needs FILE declared before it.
#include <jpeglib.h>

#include "tributary/base/error.h"
#include "tributary/base/files.h"
#include "tributary/base/preprocessing.h"
#include "tributary/base/random.h"
#include "tributary/base/threads.h"
#include "tributary/data/crop.h"
#include "tributary/data/image/decode.h"
#include "tributary/data/listing.h"
#include "tributary/experiments/synthetic.h"

namespace tributary {
namespace {

constexpr int kSide = 256, kQuality = 85, kRepetitions = 5;

bool is_jpeg(const std::vector<uint8_t>& bytes) {
  return bytes.size() > 2 && bytes[0] == 0xff && bytes[1] == 0xd8;
}

// Smooth waves with noise, which compress about as well as photographs.
std::vector<uint8_t> generated_jpeg(uint64_t seed) {
  Random random(seed);
  std::vector<uint8_t> rgb;
  const double slope = random.uniform(0.02, 0.2);
  for (int y = 0; y < kSide; ++y)
    for (int x = 0; x < kSide; ++x)
      for (int c = 0; c < 3; ++c)
        rgb.push_back(static_cast<uint8_t>(128 + 90 * std::sin(slope * (c + 1) * x + 0.03 * y) + random.below(32)));
  jpeg_compress_struct info = {};
  jpeg_error_mgr errors = {};
  info.err = jpeg_std_error(&errors);
  jpeg_create_compress(&info);
  unsigned char* memory = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&info, &memory, &size);
  info.image_height = info.image_width = kSide;
  info.input_components = 3;
  info.in_color_space = JCS_RGB;
  jpeg_set_defaults(&info);
  jpeg_set_quality(&info, kQuality, TRUE);
  jpeg_start_compress(&info, TRUE);
  for (int y = 0; y < kSide; ++y) {
    JSAMPROW row = rgb.data() + size_t{3} * kSide * static_cast<size_t>(y);
    jpeg_write_scanlines(&info, &row, 1);
  }
  jpeg_finish_compress(&info);
  std::vector<uint8_t> bytes(memory, memory + size);
  jpeg_destroy_compress(&info);
  std::free(memory);
  return bytes;
}

// Decodes with libjpeg-turbo only. The files are known to decode without errors.
void decode_with_libjpeg(const std::vector<uint8_t>& bytes) {
  thread_local std::vector<uint8_t> rgb;
  jpeg_decompress_struct info = {};
  jpeg_error_mgr errors = {};
  info.err = jpeg_std_error(&errors);
  jpeg_create_decompress(&info);
  jpeg_mem_src(&info, bytes.data(), static_cast<unsigned long>(bytes.size()));
  jpeg_read_header(&info, TRUE);
  info.out_color_space = JCS_RGB;
  jpeg_start_decompress(&info);
  const size_t row_bytes = size_t{3} * info.output_width;
  rgb.resize(row_bytes * info.output_height);
  while (info.output_scanline < info.output_height) {
    JSAMPROW row = rgb.data() + row_bytes * info.output_scanline;
    jpeg_read_scanlines(&info, &row, 1);
  }
  jpeg_finish_decompress(&info);
  jpeg_destroy_decompress(&info);
}

}  // namespace

std::vector<std::vector<uint8_t>> jpegs_for_timing(const std::string& folder, int64_t count) {
  std::vector<std::vector<uint8_t>> jpegs;
  if (folder.empty()) {
    for (int64_t i = 0; i < count; ++i) jpegs.push_back(generated_jpeg(static_cast<uint64_t>(i)));
    return jpegs;
  }
  for (const ListedPicture& picture : list_folder(folder).pictures) {
    if (static_cast<int64_t>(jpegs.size()) == count) break;
    std::vector<uint8_t> bytes = read_file(picture.path);
    if (!is_jpeg(bytes)) continue;
    decode_picture(bytes);
    jpegs.push_back(std::move(bytes));
  }
  if (jpegs.empty()) input_error("{} has no JPEG; name a folder with JPEGs with --jpegs", folder);
  return jpegs;
}

DecodeSpeed measure_decoding(const std::vector<std::vector<uint8_t>>& jpegs, int threads) {
  const auto count = static_cast<int64_t>(jpegs.size());
  const Preprocessing preprocessing{kSide, kSide};
  constexpr int64_t bytes_each = int64_t{3} * kSide * kSide;
  std::vector<uint8_t> memory(static_cast<size_t>(count * bytes_each));
  const auto seconds_for = [&](const auto& each) { return seconds_of([&] { parallel_for(count, threads, each); }); };
  std::vector<double> ours, libjpeg;
  for (int i = 0; i < kRepetitions; ++i) {
    libjpeg.push_back(seconds_for([&](int64_t at) { decode_with_libjpeg(jpegs[static_cast<size_t>(at)]); }));
    ours.push_back(seconds_for([&](int64_t at) {
      decode_preprocessed(jpegs[static_cast<size_t>(at)], preprocessing, {}, memory.data() + at * bytes_each);
    }));
  }
  return {static_cast<double>(count) / median(ours), static_cast<double>(count) / median(libjpeg)};
}

}  // namespace tributary
