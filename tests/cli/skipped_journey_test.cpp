// Own photographs in many formats, with the real program: what can be read is read, all else is named.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/support/forked_program.h"
#include "tests/support/pictures.h"

namespace tributary {
namespace {

using nlohmann::json;
using test::file_text;
using ::testing::HasSubstr;

// The rest of each line of a file of predictions, by path.
std::map<std::string, std::string> rows_of(const std::string& csv) {
  std::map<std::string, std::string> rows;
  std::istringstream lines(csv);
  for (std::string line; std::getline(lines, line);) rows[line.substr(0, line.find(','))] = line.substr(line.find(','));
  return rows;
}

// Expects the predictions of equal pictures, whose rows in a batch may round differently.
void expect_same_prediction(const std::string& one, const std::string& other) {
  const auto confidence = [](const std::string& row) { return row.find(',', 1) + 1; };
  const auto rest = [](const std::string& row, size_t at) { return row.substr(0, at) + row.substr(row.find(',', at)); };
  ASSERT_NE(confidence(one), 0u) << one;
  ASSERT_NE(confidence(other), 0u) << other;
  EXPECT_NEAR(std::stod(one.substr(confidence(one))), std::stod(other.substr(confidence(other))), 1e-5);
  EXPECT_EQ(rest(one, confidence(one)), rest(other, confidence(other)));
}

TEST(SkippedJourney, NothingVanishesSilently) {
  const test::TempDir folder;
  const auto run = [&](const std::string& arguments) { return test::run_forked_program(folder, arguments); };
  ASSERT_EQ(run("data make digits digits --pictures 40 --test-pictures 1").code, 0);
  for (const std::string domain : {"postal", "signs"})
    ASSERT_EQ(run("train --data digits/" + domain + "/train-images.idx --architecture lenet --epochs 1 --out " +
                  domain + ".safetensors")
                  .code,
              0);
  for (uint64_t i = 0; i < 12; ++i)
    folder.write("photos/" + std::to_string(10 + i) + ".png", test::encode_png(test::sample_picture(32, 32, i + 1)));
  const Picture picture = test::sample_picture(32, 32, 1);  // that of 10.png
  folder.write("photos/bitmap.bmp", test::encode_bmp(picture));
  folder.write("photos/large.png", test::encode_png(test::sample_picture(100, 100)));
  const std::map<std::string, std::string> skipped = {
      {"photos/IMG_1.HEIC", ".heic pictures cannot be read; convert them to JPEG or PNG"},
      {"photos/IMG_1.MOV", "a video"},
      {"photos/gone.jpg", "a dangling link"},
      {"photos/half.jpg", "truncated JPEG"}};
  folder.write("photos/IMG_1.HEIC", "data");
  folder.write("photos/IMG_1.MOV", "data");
  folder.write("photos/notes.txt", "not a picture");
  folder.write("photos/half.jpg", std::string("\xff\xd8\xff\xe0", 4));
  std::filesystem::create_symlink("nowhere", folder / "photos/gone.jpg");

  const std::string adapt =
      "adapt --source postal.safetensors --source signs.safetensors --target photos --rounds 1 --inner-epochs 1 ";
  const test::Outcome refused = run(adapt + "--run refused");
  EXPECT_EQ(refused.code, 2);
  EXPECT_THAT(refused.err,
              HasSubstr("3 of 17 pictures of photos cannot be read, more than 10 %; repair or remove them, "
                        "or raise --max-skipped, first photos/IMG_1.HEIC (.heic pictures"));
  EXPECT_FALSE(std::filesystem::exists(folder / "refused/model.safetensors"));

  const test::Outcome adapted = run(adapt + "--run run --max-skipped 0.2");
  ASSERT_EQ(adapted.code, 0) << adapted.err;
  EXPECT_THAT(adapted.out, HasSubstr("14 pictures (4 more skipped), "));
  const json summary = json::parse(file_text(folder / "run/summary.json"));
  EXPECT_EQ(summary.at("skipped"), 4);
  auto rows = rows_of(file_text(folder / "run/predictions.csv"));
  EXPECT_EQ(rows.size(), 1u + 14 + 4);
  for (const auto& [path, reason] : skipped) {
    EXPECT_THAT(adapted.err, HasSubstr("tributary adapt: skipped " + path + ": " + reason + " (")) << path;
    EXPECT_THAT(summary.at("skipped_pictures").dump(), HasSubstr(json(path).dump())) << path;
    EXPECT_THAT(rows[path], HasSubstr("," + reason)) << path;
    EXPECT_THAT(file_text(folder / "run/report.html"), HasSubstr(path + ": " + reason)) << path;
  }
  expect_same_prediction(rows["photos/bitmap.bmp"], rows["photos/10.png"]);

  folder.write("scans/1.tif", test::encode_tiff(picture));
  folder.write("scans/2.png", test::encode_png(picture));
  const test::Outcome scans = run("predict run --data scans --out scans.csv");
  ASSERT_EQ(scans.code, 0) << scans.err;
  if (scans.err.find("libtiff") == std::string::npos) {  // builds without it say so
    auto both = rows_of(file_text(folder / "scans.csv"));
    expect_same_prediction(both["scans/1.tif"], both["scans/2.png"]);
    expect_same_prediction(both["scans/1.tif"], rows["photos/10.png"]);
  }

  // Two frames of 2 x 2 pixels; the first one is read.
  const std::string head("GIF89a\2\0\2\0\x80\0\0\x0a\x14\x1e\xc8\xd2\xdc", 19), frame(",\0\0\0\0\2\0\2\0\0\2\3", 12);
  folder.write("frames/1.gif", head + frame + std::string("\x0c\x10\5\0", 4) + frame + std::string("\x44\x44\5\0;", 5));
  folder.write("frames/2.png", test::encode_png({2, 2, {200, 210, 220, 10, 20, 30, 10, 20, 30, 200, 210, 220}}));
  const test::Outcome frames = run("predict run --data frames --out new/frames.csv");
  ASSERT_EQ(frames.code, 0) << frames.err;
  if (frames.err.find("giflib") == std::string::npos) {
    auto both = rows_of(file_text(folder / "new/frames.csv"));
    expect_same_prediction(both["frames/1.gif"], both["frames/2.png"]);
  }

  // Other commands read the target of a run as the run did.
  for (const char* arguments : {"report run --embedded-rounds 0", "distill run --epochs 1"})
    EXPECT_EQ(run(arguments).code, 0) << arguments;

  // The limit of pixels is an option.
  const test::Outcome small = run("predict run --data photos --out small.csv --max-megapixels 0.005");
  ASSERT_EQ(small.code, 0) << small.err;
  EXPECT_THAT(small.err,
              HasSubstr("skipped photos/large.png: 100 x 100 pixels, more than the limit of 0.005 megapixels"));
  EXPECT_THAT(rows_of(file_text(folder / "small.csv"))["photos/large.png"], HasSubstr("more than the limit"));

  ASSERT_EQ(run("adapt --source postal.safetensors signs.safetensors --target photos --method source-ens --no-report "
                "--max-skipped 0.3 --max-megapixels 0.005 --run small")
                .code,
            0);
  const test::Outcome reported = run("report small --embedded-rounds 0");
  EXPECT_EQ(reported.code, 0) << reported.err;

  // Of many files with one reason, the first few are named.
  for (int i = 0; i < 200; ++i) folder.write("phone/" + std::to_string(1000 + i) + ".heic", "data");
  for (int i = 0; i < 9; ++i) folder.write("phone/" + std::to_string(i) + ".png", test::encode_png(picture));
  const test::Outcome phone = run("predict run --data phone --out phone.csv");
  ASSERT_EQ(phone.code, 0) << phone.err;
  EXPECT_THAT(phone.err, HasSubstr("skipped phone/1004.heic: "));
  EXPECT_THAT(phone.err, ::testing::Not(HasSubstr("1005.heic")));
  EXPECT_THAT(phone.err, HasSubstr("skipped 195 more, 200 of 209 files in all (.heic pictures cannot be read; convert "
                                   "them to JPEG or PNG: 200)\n"));
  EXPECT_EQ(rows_of(file_text(folder / "phone.csv")).size(), 1u + 209);
}

}  // namespace
}  // namespace tributary
