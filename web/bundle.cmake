# Makes of web/ one page, report_template.html, and a C++ source that holds it.
#
#   cmake -DCHART_JS=chart.min.js -DOUT=folder -P web/bundle.cmake
#
# The modules become one classic script: their import lines and the word "export" are taken away and what is left
# stands, in the order below, in one function. That is right for modules which keep to a discipline that is checked
# here: imports stand on one line and name a module further up, exports stand before a declaration, and no two modules
# declare the same name.
#
# In the page @TITLE@ and @DATA@ are left for the program to fill in.
cmake_minimum_required(VERSION 3.25)

set(MODULES choices format dom colours decode charts tables summary rounds losses bound classes confusion scatter
            gallery points legend inspect map setup benchmark live main)
set(STYLES base controls top charts tables confusion map gallery setup print)

# Only lists the files that the page is made of, for a build's dependencies.
set(WEB_FILES ${CMAKE_CURRENT_LIST_FILE} ${CMAKE_CURRENT_LIST_DIR}/report.html)
foreach(name ${MODULES})
  list(APPEND WEB_FILES ${CMAKE_CURRENT_LIST_DIR}/modules/${name}.js)
endforeach()
foreach(name ${STYLES})
  list(APPEND WEB_FILES ${CMAKE_CURRENT_LIST_DIR}/style/${name}.css)
endforeach()
if(NOT CMAKE_SCRIPT_MODE_FILE STREQUAL CMAKE_CURRENT_LIST_FILE)
  return()
endif()

set(script "(() => {\n'use strict';\n")
set(seen "")
set(declared "")
foreach(name ${MODULES})
  file(READ ${CMAKE_CURRENT_LIST_DIR}/modules/${name}.js text)
  set(text "\n${text}")
  string(REGEX MATCHALL "\nimport [^;\n]*" imports "${text}")
  foreach(import ${imports})
    if(NOT import MATCHES "^\nimport {[A-Za-z, ]+} from '\\./([a-z]+)\\.js'$")
      message(FATAL_ERROR "web/modules/${name}.js: not an import on one line from a module beside it:${import}")
    endif()
    if(NOT CMAKE_MATCH_1 IN_LIST seen)
      message(FATAL_ERROR "web/modules/${name}.js imports ${CMAKE_MATCH_1}.js, which does not come before it in "
                          "web/bundle.cmake")
    endif()
  endforeach()
  string(REGEX REPLACE "\nimport [^;\n]*;" "" text "${text}")
  string(REGEX REPLACE "\nexport (async function|function|class|const|let) " "\n\\1 " text "${text}")
  if(text MATCHES "\n(export|import)[ {]")
    message(FATAL_ERROR "web/modules/${name}.js: an export that does not stand before a declaration, or an import of "
                        "many lines")
  endif()
  string(REGEX MATCHALL "\n(async function|function|class|const|let) [A-Za-z0-9_$]+" declarations "${text}")
  foreach(declaration ${declarations})
    string(REGEX REPLACE "^.* " "" declaration "${declaration}")
    if(declaration IN_LIST declared)
      message(FATAL_ERROR "web/modules/${name}.js declares ${declaration}, as a module before it does; one of them "
                          "needs another name")
    endif()
    list(APPEND declared ${declaration})
  endforeach()
  list(APPEND seen ${name})
  string(APPEND script "\n// ${name}.js${text}")
endforeach()
string(APPEND script "})();")

set(style "")
foreach(name ${STYLES})
  file(READ ${CMAKE_CURRENT_LIST_DIR}/style/${name}.css text)
  string(APPEND style "${text}")
endforeach()

file(READ ${CHART_JS} chart)
if(NOT chart MATCHES "Chart\\.js v3\\.")
  message(FATAL_ERROR "${CHART_JS} is not Chart.js 3, which the report's charts are written for")
endif()
string(REGEX REPLACE "\n//# sourceMappingURL=[^\n]*" "" chart "${chart}")

# What stands in a script must not end it.
foreach(part script chart)
  string(TOLOWER "${${part}}" lower)
  if(lower MATCHES "</script|<!--")
    message(FATAL_ERROR "web/bundle.cmake: the ${part} contains </script or <!--, which would end it early")
  endif()
endforeach()

file(READ ${CMAKE_CURRENT_LIST_DIR}/report.html page)
string(REPLACE "@STYLE@" "${style}" page "${page}")
string(REPLACE "@CHART@" "${chart}" page "${page}")
string(REPLACE "@SCRIPT@" "${script}" page "${page}")
foreach(marker TITLE DATA)
  string(REGEX MATCHALL "@${marker}@" found "${page}")
  list(LENGTH found times)
  if(NOT times EQUAL 1)
    message(FATAL_ERROR "web/bundle.cmake: @${marker}@ stands ${times} times in the page instead of once")
  endif()
endforeach()
file(WRITE ${OUT}/report_template.html "${page}")

# As numbers: no piece of text can then be too long for a compiler, or mean something to it.
file(READ ${OUT}/report_template.html bytes HEX)
string(REGEX REPLACE "(..)" "0x\\1," bytes "${bytes}")
file(WRITE ${OUT}/report_template.cpp "// Made by web/bundle.cmake.
#include <string_view>

namespace tributary {

std::string_view report_template();

namespace {
const unsigned char kPage[] = {${bytes}};
}  // namespace

std::string_view report_template() { return {reinterpret_cast<const char*>(kPage), sizeof kPage}; }

}  // namespace tributary
")
