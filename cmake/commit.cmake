# Writes the commit of SOURCE to the C++ file OUT, if it changed: cmake -DSOURCE=folder -DOUT=file -P cmake/commit.cmake
cmake_minimum_required(VERSION 3.25)
execute_process(COMMAND git -C ${SOURCE} describe --always --dirty --abbrev=12 --exclude=*
                OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE failed)
if(failed)
  set(commit "unknown")
endif()
file(CONFIGURE OUTPUT ${OUT} @ONLY CONTENT [[
namespace tributary {
const char* build_commit();
const char* build_commit() { return "@commit@"; }
}  // namespace tributary
]])
