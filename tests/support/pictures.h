// Generates pictures from a seed and encodes them as JPEG, PNG, BMP or TIFF.
#pragma once

#include <png.h>

#include <algorithm>
#include <cmath>
#include <csetjmp>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

// jpeglib.h needs FILE declared before it.
#include <jpeglib.h>

#include "tributary/base/little_endian.h"
#include "tributary/base/random.h"
#include "tributary/data/image/picture.h"
#include "tributary/data/image_set.h"

namespace tributary::test {

// Smooth colours with some noise: JPEG preserves them roughly, and every pixel differs from its neighbours.
inline Picture sample_picture(int height, int width, uint64_t seed = 1) {
  Random random(seed);
  Picture picture{height, width, {}};
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      for (int c = 0; c < 3; ++c) {
        const double wave = 128 + 80 * std::sin(0.31 * x * (c + 1) + 0.17 * y + static_cast<double>(seed));
        picture.rgb.push_back(static_cast<uint8_t>(std::clamp(wave + random.uniform(-40, 40), 0.0, 255.0)));
      }
    }
  }
  return picture;
}

inline Picture plain_picture(int height, int width, uint8_t red, uint8_t green, uint8_t blue) {
  Picture picture{height, width, {}};
  for (int i = 0; i < height * width; ++i) picture.rgb.insert(picture.rgb.end(), {red, green, blue});
  return picture;
}

// A set of pictures in memory; `pixels` are contiguous.
inline ImageSet image_set(int height, int width, std::vector<std::string> names, std::vector<uint8_t> pixels) {
  ImageSet set;
  set.height = height;
  set.width = width;
  set.names = std::move(names);
  set.pixels = std::move(pixels);
  return set;
}

enum class JpegKind { kRgb, kGrey, kProgressive, kCmyk, kYcck, kCmykWithoutAdobe, kTwoScans };

// kTwoScans is grey with two full scans. For the CMYK kinds, ink is the inverse of the picture, and black is a quarter
// of its green.
inline std::vector<uint8_t> encode_jpeg(const Picture& picture, JpegKind kind = JpegKind::kRgb, int quality = 95) {
  jpeg_compress_struct info = {};
  jpeg_error_mgr errors = {};
  info.err = jpeg_std_error(&errors);
  jpeg_create_compress(&info);
  unsigned char* memory = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&info, &memory, &size);
  info.image_height = static_cast<JDIMENSION>(picture.height);
  info.image_width = static_cast<JDIMENSION>(picture.width);
  const bool ink = kind == JpegKind::kCmyk || kind == JpegKind::kYcck || kind == JpegKind::kCmykWithoutAdobe;
  const bool grey = kind == JpegKind::kGrey || kind == JpegKind::kTwoScans;
  info.input_components = ink ? 4 : grey ? 1 : 3;
  info.in_color_space = ink ? JCS_CMYK : grey ? JCS_GRAYSCALE : JCS_RGB;
  jpeg_set_defaults(&info);
  jpeg_set_quality(&info, quality, TRUE);
  if (kind == JpegKind::kProgressive) jpeg_simple_progression(&info);
  static const jpeg_scan_info kScans[2] = {{1, {0}, 0, 0, 0, 0}, {1, {0}, 1, 63, 0, 0}};
  if (kind == JpegKind::kTwoScans) {
    info.scan_info = kScans;
    info.num_scans = 2;
  }
  if (kind == JpegKind::kYcck) jpeg_set_colorspace(&info, JCS_YCCK);
  if (kind == JpegKind::kCmykWithoutAdobe) info.write_Adobe_marker = FALSE;
  jpeg_start_compress(&info, TRUE);
  std::vector<uint8_t> row(static_cast<size_t>(info.input_components * picture.width));
  while (info.next_scanline < info.image_height) {
    const uint8_t* rgb = picture.rgb.data() + picture.row_bytes() * info.next_scanline;
    for (int x = 0; x < picture.width; ++x, rgb += 3) {
      uint8_t* out = row.data() + x * info.input_components;
      if (ink) {
        for (int c = 0; c < 3; ++c) out[c] = rgb[c];  // stored inverted: paper white is 255
        out[3] = static_cast<uint8_t>(255 - rgb[1] / 4);
      } else {
        std::copy_n(rgb, info.input_components, out);
      }
    }
    JSAMPROW rows = row.data();
    jpeg_write_scanlines(&info, &rows, 1);
  }
  jpeg_finish_compress(&info);
  std::vector<uint8_t> bytes(memory, memory + size);
  jpeg_destroy_compress(&info);
  std::free(memory);
  return bytes;
}

// RGB, 8 bits.
inline std::vector<uint8_t> encode_png(const Picture& picture, bool interlaced = false) {
  std::vector<uint8_t> bytes;
  png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, nullptr, nullptr, nullptr);
  png_infop info = png_create_info_struct(png);
  if (setjmp(png_jmpbuf(png)) != 0) throw std::runtime_error("libpng cannot write");
  png_set_write_fn(
      png, &bytes,
      [](png_structp self, png_bytep data, size_t size) {
        auto* out = static_cast<std::vector<uint8_t>*>(png_get_io_ptr(self));
        out->insert(out->end(), data, data + size);
      },
      nullptr);
  png_set_IHDR(png, info, static_cast<png_uint_32>(picture.width), static_cast<png_uint_32>(picture.height), 8,
               PNG_COLOR_TYPE_RGB, interlaced ? PNG_INTERLACE_ADAM7 : PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT,
               PNG_FILTER_TYPE_DEFAULT);
  png_write_info(png, info);
  const int passes = interlaced ? png_set_interlace_handling(png) : 1;
  for (int pass = 0; pass < passes; ++pass) {
    for (int y = 0; y < picture.height; ++y) png_write_row(png, picture.rgb.data() + picture.row_bytes() * y);
  }
  png_write_end(png, nullptr);
  png_destroy_write_struct(&png, &info);
  return bytes;
}

// 24 bits, uncompressed.
inline std::vector<uint8_t> encode_bmp(const Picture& picture) {
  const auto side = [](int length) { return little_endian(static_cast<uint64_t>(length), 4); };
  const std::string header = "BM" + little_endian(0, 8) + little_endian(54, 4) + little_endian(40, 4) +
                             side(picture.width) + side(picture.height) + little_endian(1, 2) + little_endian(24, 2) +
                             little_endian(0, 24);
  std::vector<uint8_t> bytes(header.begin(), header.end());
  for (int y = picture.height - 1; y >= 0; --y) {
    const uint8_t* rgb = picture.rgb.data() + picture.row_bytes() * y;
    for (int x = 0; x < picture.width; ++x, rgb += 3) bytes.insert(bytes.end(), {rgb[2], rgb[1], rgb[0]});
    while ((bytes.size() - header.size()) % 4 != 0) bytes.push_back(0);
  }
  return bytes;
}

// RGB, 8 bits, uncompressed.
inline std::vector<uint8_t> encode_tiff(const Picture& picture) {
  const std::vector<std::pair<int, size_t>> entries = {{256, picture.width},
                                                       {257, picture.height},
                                                       {258, 8},
                                                       {259, 1},
                                                       {262, 2},
                                                       {273, 8 + 2 + 9 * 12 + 4},
                                                       {277, 3},
                                                       {278, picture.height},
                                                       {279, picture.rgb.size()}};
  std::string header = "II" + little_endian(42, 2) + little_endian(8, 4) + little_endian(entries.size(), 2);
  for (const auto& [tag, value] : entries)
    header += little_endian(static_cast<uint64_t>(tag), 2) + little_endian(4, 2) + little_endian(1, 4) +
              little_endian(value, 4);
  header += little_endian(0, 4);
  std::vector<uint8_t> bytes(header.begin(), header.end());
  bytes.insert(bytes.end(), picture.rgb.begin(), picture.rgb.end());
  return bytes;
}

// Inserts an APP1 segment after the first two bytes of `jpeg`.
inline std::vector<uint8_t> with_app1(const std::vector<uint8_t>& jpeg, std::span<const uint8_t> payload) {
  const size_t length = payload.size() + 2;
  std::vector<uint8_t> segment = {0xff, 0xe1, static_cast<uint8_t>(length >> 8), static_cast<uint8_t>(length & 0xff)};
  segment.insert(segment.end(), payload.begin(), payload.end());
  std::vector<uint8_t> bytes = jpeg;
  bytes.insert(bytes.begin() + 2, segment.begin(), segment.end());
  return bytes;
}

// The payload of an EXIF segment with an orientation, preceded by another tag.
inline std::vector<uint8_t> exif_payload(int orientation, bool big_endian) {
  std::vector<uint8_t> bytes = {'E', 'x', 'i', 'f', 0, 0};
  const auto put = [&bytes, big_endian](int value, int length) {
    for (int i = 0; i < length; ++i)
      bytes.push_back(static_cast<uint8_t>(value >> 8 * (big_endian ? length - 1 - i : i)));
  };
  bytes.insert(bytes.end(), 2, big_endian ? 'M' : 'I');
  put(42, 2);
  put(8, 4);  // offset of the directory
  put(2, 2);  // its entries: tag, type (3: 16 bits), count, value
  for (const auto& [tag, value] : {std::pair(0x0100, 640), std::pair(0x0112, orientation)}) {
    put(tag, 2);
    put(3, 2);
    put(1, 4);
    put(value, 2);
    put(0, 2);
  }
  put(0, 4);  // no further directory
  return bytes;
}

}  // namespace tributary::test
