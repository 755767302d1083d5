#include "tributary/data/archive/tar_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>

#include "tests/support/python.h"
#include "tests/support/tar.h"
#include "tests/support/temp_dir.h"
#include "tributary/base/error.h"
#include "tributary/base/threads.h"

namespace tributary {
namespace {

using test::tar_end;
using test::tar_member;
using test::tar_of;
using test::TempDir;
using ::testing::AllOf;
using ::testing::HasSubstr;
using Files = std::vector<std::pair<std::string, std::string>>;

Files files_of(const TarFile& file) {
  Files files;
  file.for_each_member([&](const TarMember& member) {
    files.emplace_back(member.name, test::text_of(file.read(member.offset, member.size)));
  });
  return files;
}

std::string counted(size_t size) {
  std::string bytes;
  for (size_t i = 0; i < size; ++i) bytes += static_cast<char>(i % 251);
  return bytes;
}

std::string repeated(const std::string& text, int times) {
  std::string result;
  for (int i = 0; i < times; ++i) result += text;
  return result;
}

TEST(TarFile, ReadsAllThreeFormatsOfPython) {
  const auto python = test::python_with("tarfile");
  if (!python) GTEST_SKIP() << "skipped: no python3";
  const TempDir dir;
  ASSERT_TRUE(test::run_python(*python, "tests/data/archive/tar_reference.py", {"write", dir.path()}));
  const Files common = {{"a.jpg", ""},
                        {"folder/b.png", counted(511)},
                        {"folder/b.cls", counted(512)},
                        {repeated("deep/", 30) + "name.jpg", counted(513)}};
  Files all = common;
  all.emplace_back(repeated("deep/", 60) + "name.jpg", counted(3));
  all.emplace_back("größe.jpg", counted(4));
  EXPECT_EQ(files_of(TarFile(dir / "ustar.tar")), common);
  EXPECT_EQ(files_of(TarFile(dir / "pax.tar")), all);
  EXPECT_EQ(files_of(TarFile(dir / "gnu.tar")), all);
}

TEST(TarFile, ReadsGnuTar) {
  const TempDir dir;
  if (std::system("tar --version 2>/dev/null | grep -q GNU") != 0) GTEST_SKIP() << "skipped: no GNU tar";
  const std::string long_name = repeated("deep/", 30) + repeated("n", 120) + ".jpg";
  dir.write("in/" + long_name, "long");
  dir.write("in/b.jpg", counted(70'000));
  for (const char* form : {"gnu", "pax", "ustar", "v7"}) {
    const bool short_names = std::string(form) == "ustar" || std::string(form) == "v7";
    const std::string archive = dir / (std::string(form) + ".tar");
    const std::string command = "cd " + test::shell_quoted(dir / "in") + " && tar -cf " + test::shell_quoted(archive) +
                                " --format=" + form + (short_names ? " ./b.jpg" : " ./b.jpg .");
    ASSERT_EQ(std::system(command.c_str()), 0) << command;
    const Files found = files_of(TarFile(archive));
    const std::map<std::string, std::string> files(found.begin(), found.end());
    EXPECT_EQ(files.at("b.jpg"), counted(70'000)) << form;
    EXPECT_EQ(files.size(), short_names ? 1u : 2u) << form;
    if (short_names) continue;
    EXPECT_EQ(files.at(long_name), "long") << form;
  }
}

TEST(TarFile, IsReadFromAnyThread) {
  const TempDir dir;
  Files files;
  for (int i = 0; i < 50; ++i) files.emplace_back(fmt::format("{}.jpg", i), counted(static_cast<size_t>(i * 97)));
  TarFile file(dir.write("a.tar", tar_of(files)));
  std::vector<TarMember> members;
  file.for_each_member([&](TarMember member) { members.push_back(std::move(member)); });
  ASSERT_EQ(members.size(), 50u);
  for (const bool open : {true, false}) {
    if (!open) file.close();
    parallel_for(1000, 4, [&](int64_t i) {
      const TarMember& member = members[static_cast<size_t>(i * 7 % 50)];
      if (test::text_of(file.read(member.offset, member.size)) != files[static_cast<size_t>(i * 7 % 50)].second)
        throw std::runtime_error("other bytes");
    });
  }
}

TEST(TarFile, DetectsChanges) {
  const TempDir dir;
  const std::string path = dir.write("a.tar", tar_of({{"a.jpg", "x"}}));
  const TarFile file(path);
  std::ofstream(path, std::ios::app) << "more";
  EXPECT_THAT(test::message_of<WorkError>([&] { file.read(512, 1); }), AllOf(HasSubstr(path), HasSubstr("changed")));
}

TEST(TarFile, ReadsBinaryNumbersOfGnuTar) {
  const TempDir dir;
  const std::string size("\x80\0\0\0\0\0\0\0\0\0\0\x03", 12);
  const std::string bytes = test::changed_header("a.jpg", 0, 124, size) + test::padded("abc") + tar_end();
  EXPECT_EQ(files_of(TarFile(dir.write("a.tar", bytes))), (Files{{"a.jpg", "abc"}}));
}

TEST(TarFile, ReadsFoldersOfOldArchives) {
  const TempDir dir;
  EXPECT_EQ(files_of(TarFile(dir.write("a.tar", tar_of({{"old/", ""}, {"old/a.jpg", "x"}})))),
            (Files{{"old/a.jpg", "x"}}));
}

TEST(TarFile, ReadsSizeAndNameFromPax) {
  const TempDir dir;
  const std::string records = pax_record("size", "3") + pax_record("comment", "=\n=") + pax_record("path", "p.jpg");
  const std::string bytes = tar_member("x", records, 'x') + tar_header("a.jpg", 0, TarWritten::kRegular) +
                            test::padded("abc") + tar_member("b.jpg", "de") + tar_end();
  EXPECT_EQ(files_of(TarFile(dir.write("a.tar", bytes))), (Files{{"p.jpg", "abc"}, {"b.jpg", "de"}}));
}

TEST(TarFile, RejectsDamagedArchives) {
  const TempDir dir;
  const std::string good = tar_member("good.jpg", "0123456789");
  std::string flipped = good + tar_member("a.jpg", "x");
  flipped[1024 + 3] ^= 1;
  const auto pax = [](const std::string& records) { return tar_member("x", records, 'x') + tar_member("a", ""); };
  const struct {
    const char* what;
    std::string bytes;
    const char* part;
  } cases[] = {
      {"nothing", "", "is empty"},
      {"text", std::string(2000, 'x'), "is not a tar archive"},
      {"no end", good, "has no end marker"},
      {"truncated content", good.substr(0, 520), "good.jpg needs 10 bytes, 8 are left"},
      {"truncated header", good + good.substr(0, 100), "has no end marker"},
      {"a flipped bit", flipped + tar_end(), "at byte 1024 has a wrong checksum"},
      {"size beyond the file", tar_header("a.jpg", int64_t{1} << 32, TarWritten::kRegular) + tar_end(),
       "a.jpg needs 4,294,967,296 bytes, 1,024 are left"},
      {"size beyond 63 bits", test::changed_header("a.jpg", 0, 124, "\x80" + std::string(11, '\xff')) + tar_end(),
       "has no size"},
      {"negative size", test::changed_header("a.jpg", 0, 124, std::string(12, '\xff')) + tar_end(), "has no size"},
      {"size in letters", test::changed_header("a.jpg", 0, 124, "12x") + tar_end(), "has no size"},
      {"..", tar_of({{"a/../../b.jpg", "x"}}), "leads outside (a/../../b.jpg)"},
      {"absolute", tar_of({{"/etc/a.jpg", "x"}}), "leads outside (/etc/a.jpg)"},
      {"control characters", tar_of({{"a\x1b[2J.jpg", "x"}}), "control characters (a?[2J.jpg)"},
      {"no name", tar_of({{"", "x"}}), "without a name"},
      {"two archives", tar_of({{"a.jpg", "x"}}) + tar_of({{"b.jpg", "x"}}), "has data after its end"},
      {"sparse of GNU", tar_member("a.jpg", "x", 'S') + tar_end(), "a.jpg is a sparse file"},
      {"sparse of pax", pax(pax_record("GNU.sparse.major", "1")) + tar_end(), "is sparse"},
      {"part of an archive", tar_member("a.jpg", "x", 'M') + tar_end(), "starts in another archive"},
      {"unknown kind", tar_member("a.jpg", "x", '\x01') + tar_end(), "has the unknown type ?"},
      {"link with content", tar_member("a.jpg", "x", '2') + tar_end(), "is not a regular file but has 1 bytes"},
      {"pax without length", pax("path=a\n") + tar_end(), "additional header at byte 0 is damaged"},
      {"pax of another length", pax("99 path=a\n") + tar_end(), "is damaged"},
      {"pax without a key", pax("5 =a\n") + tar_end(), "is damaged"},
      {"pax without an end", pax("9 path=ab") + tar_end(), "is damaged"},
      {"pax size in words", pax(pax_record("size", "big")) + tar_end(), "is damaged"},
      {"pax size beyond the file", pax(pax_record("size", "99999999999")) + tar_end(), "needs 99,999,999,999 bytes"},
      {"pax size beyond 63 bits", pax(pax_record("size", "99999999999999999999")) + tar_end(), "is damaged"},
      {"pax for all", tar_member("x", pax_record("path", "a"), 'g') + tar_end(), "sets the name or size of all files"},
      {"endless name", tar_member("x", std::string(70'000, 'n'), 'L') + tar_end(), "more than 65536"},
  };
  for (const auto& [what, bytes, part] : cases) {
    SCOPED_TRACE(what);
    const std::string path = dir.write("bad.tar", bytes);
    EXPECT_THAT(test::message_of<InputError>([&] { files_of(TarFile(path)); }),
                AllOf(HasSubstr(path), HasSubstr(part)));
  }
  EXPECT_THAT(test::message_of<InputError>([&] { TarFile(dir / "none.tar"); }), HasSubstr("cannot be opened"));
  EXPECT_THAT(test::message_of<InputError>([&] { TarFile(dir.path()); }), HasSubstr("not a regular file"));
}

}  // namespace
}  // namespace tributary
