#include "tributary/base/process.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "tributary/base/error.h"

namespace tributary {
namespace {

TEST(Process, ReturnsExitCodeAndBothOutputs) {
  const Finished finished = run_process({"sh", "-c", "echo out; echo err >&2; exit 3"});
  EXPECT_EQ(finished.code, 3);
  EXPECT_EQ(finished.out, "out\n");
  EXPECT_EQ(finished.err, "err\n");
}

TEST(Process, ReadsMoreThanThePipeBuffers) {
  const Finished finished = run_process({"sh", "-c", "head -c 300000 /dev/zero; head -c 300000 /dev/zero >&2"});
  EXPECT_EQ(finished.out.size(), 300000u);
  EXPECT_EQ(finished.err.size(), 300000u);
}

TEST(Process, HasNoInputAndNoShell) {
  EXPECT_EQ(run_process({"cat"}).out, "");
  EXPECT_EQ(run_process({"echo", "$HOME; rm"}).out, "$HOME; rm\n");
}

TEST(Process, ReportsTheKillingSignal) {
  EXPECT_EQ(run_process({"sh", "-c", "kill -9 $$"}).code, 128 + 9);
}

TEST(Process, RejectsAMissingProgram) {
  EXPECT_THROW(run_process({"/no/such/program"}), WorkError);
}

TEST(Process, IgnoresAStaleParent) {
  setenv("TRIBUTARY_PARENT", "999999999", 1);
  end_with_parent();  // would end this process
  EXPECT_EQ(std::getenv("TRIBUTARY_PARENT"), nullptr);
}

TEST(Process, FindsItsOwnProgram) {
  EXPECT_NE(own_program().find("plain_tests"), std::string::npos);
}

}  // namespace
}  // namespace tributary
