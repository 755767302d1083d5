# Writes a file for ctest with one entry per test source of a GoogleTest program. Runs after the program was linked:
#
#   cmake -DPROGRAM=... -DROOT=... -DFOLDERS=... -DLONG=... -DTIMEOUT=... -DENVIRONMENT=... -DOUTPUT=... \
#         -P discover_files.cmake
#
# Loading LibTorch takes half a second per process, so the tests of one source share a process. The entry for
# ROOT/train/adam_test.cpp is train.adam. All sources of a folder in FOLDERS form one entry with its name.
# Entries that match LONG start first.
cmake_minimum_required(VERSION 3.25)
execute_process(COMMAND ${PROGRAM} --gtest_list_tests --gtest_output=xml:${OUTPUT}.xml
                OUTPUT_QUIET ERROR_VARIABLE error RESULT_VARIABLE code TIMEOUT 60)
if(NOT code EQUAL 0)
  message(FATAL_ERROR "${PROGRAM} cannot list its tests: ${error}")
endif()
file(READ ${OUTPUT}.xml listed)
string(REGEX REPLACE "(value|type)_param=\"[^\"]*\"" "" listed "${listed}")
string(REGEX MATCHALL "<testsuite name=\"[^\"]+\"|<testcase [^>]* file=\"[^\"]+\"" listed "${listed}")

# A suite belongs to the source of its first test.
get_filename_component(build ${PROGRAM}/../.. ABSOLUTE)
set(entries "")
set(suite "")
foreach(line IN LISTS listed)
  if(line MATCHES "^<testsuite name=\"(.*)\"")
    set(suite ${CMAKE_MATCH_1})
  elseif(suite AND line MATCHES " file=\"(.*)\"")
    # A compiler cache may have made the path relative to the build folder, one above that of the program.
    get_filename_component(source ${CMAKE_MATCH_1} ABSOLUTE BASE_DIR ${build})
    file(RELATIVE_PATH name ${ROOT} ${source})
    get_filename_component(folder ${name} DIRECTORY)
    if(folder IN_LIST FOLDERS)
      set(name ${folder})
    endif()
    string(REGEX REPLACE "(_test)?\\.cpp$" "" name ${name})
    string(REPLACE "/" "." name ${name})
    list(APPEND entries ${name})
    string(APPEND filter_${name} ":${suite}.*")
    set(suite "")
  endif()
endforeach()

list(REMOVE_DUPLICATES entries)
set(text "")
foreach(name IN LISTS entries)
  string(SUBSTRING "${filter_${name}}" 1 -1 filter)
  set(cost 1)
  if(LONG AND name MATCHES "${LONG}")
    set(cost 100)  # starts first
  endif()
  string(APPEND text "add_test([=[${name}]=] [=[${PROGRAM}]=] [=[--gtest_filter=${filter}]=])\n"
                     "set_tests_properties([=[${name}]=] PROPERTIES TIMEOUT ${TIMEOUT} COST ${cost} ENVIRONMENT [=[${ENVIRONMENT}]=])\n")
endforeach()
file(WRITE ${OUTPUT} "${text}")
