#include "tributary/data/archive/tar_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/support/python.h"
#include "tests/support/tar.h"
#include "tests/support/temp_dir.h"
#include "tributary/data/archive/tar_file.h"

namespace tributary {
namespace {

using test::TempDir;

// A short name, the longest one without pax, one byte more, one whose pax length has an additional digit, and one that
// is not ASCII.
const std::vector<std::string>& names() {
  static const std::vector<std::string> all = {"a.jpg", std::string(96, 'b') + ".jpg", std::string(97, 'c') + ".jpg",
                                               std::string(988, 'd') + ".jpg", "größe.jpg"};
  return all;
}

std::string content(size_t i) {
  return std::string(i * 511, static_cast<char>('0' + i));
}

std::string write(const TempDir& dir) {
  TarWriter writer(dir / "a.tar");
  for (size_t i = 0; i < names().size(); ++i) writer.add(names()[i], std::string_view(content(i)));
  writer.finish();
  EXPECT_FALSE(std::filesystem::exists(dir / "a.tar"));
  writer.commit();
  EXPECT_EQ(static_cast<int64_t>(std::filesystem::file_size(dir / "a.tar")), writer.size());
  return dir / "a.tar";
}

TEST(TarWriter, RoundTrips) {
  const TempDir dir;
  const TarFile file(write(dir));
  size_t i = 0;
  file.for_each_member([&](const TarMember& member) {
    EXPECT_EQ(member.name, names()[i]);
    EXPECT_EQ(test::text_of(file.read(member.offset, member.size)), content(i++));
  });
  EXPECT_EQ(i, names().size());
}

TEST(TarWriter, PythonReadsIt) {
  const auto python = test::python_with("tarfile");
  if (!python) GTEST_SKIP() << "skipped: no python3";
  const TempDir dir;
  ASSERT_TRUE(test::run_python(*python, "tests/data/archive/tar_reference.py", {"read", write(dir), dir / "read.txt"}));
  std::string expected;
  for (size_t i = 0; i < names().size(); ++i) {
    expected += names()[i] + "\t";
    for (const char c : content(i)) expected += fmt::format("{:02x}", c);
    expected += "\n";
  }
  EXPECT_EQ(test::text_of(test::read_bytes(dir / "read.txt")), expected);
}

TEST(TarWriter, GnuTarReadsIt) {
  if (std::system("tar --version 2>/dev/null | grep -q GNU") != 0) GTEST_SKIP() << "skipped: no GNU tar";
  const TempDir dir;
  TarWriter writer(dir / "a.tar");
  writer.add("folder/" + std::string(120, 'n') + ".jpg", std::string_view("long"));
  writer.add("b.jpg", std::string_view(content(3)));
  writer.finish();
  writer.commit();
  const std::string command = "cd " + test::shell_quoted(dir.path()) + " && tar -xf a.tar 2>err && ! [ -s err ]";
  ASSERT_EQ(std::system(command.c_str()), 0) << "GNU tar warned or failed";
  EXPECT_EQ(test::text_of(test::read_bytes(dir / ("folder/" + std::string(120, 'n') + ".jpg"))), "long");
  EXPECT_EQ(test::text_of(test::read_bytes(dir / "b.jpg")), content(3));
}

TEST(TarWriter, IsDeterministicAndAtomic) {
  const TempDir one, two, none;
  EXPECT_EQ(test::read_bytes(write(one)), test::read_bytes(write(two)));
  {
    TarWriter writer(none / "a.tar");
    writer.add("a.jpg", std::string_view("x"));
    writer.finish();
  }
  EXPECT_TRUE(std::filesystem::is_empty(none.path()));
}

}  // namespace
}  // namespace tributary
