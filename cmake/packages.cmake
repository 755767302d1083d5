# cpack -G DEB: the Debian packages tributary, libtributary-dev and python3-tributary.
set(packages "program=tributary;development=libtributary-dev")
if(TARGET tributary_python)
  list(APPEND packages "python=python3-tributary")
  set(TRIBUTARY_PYTHON_DIR lib/python3/dist-packages CACHE STRING "Folder of Python packages below the prefix")
  install(DIRECTORY ${PROJECT_BINARY_DIR}/python/tributary DESTINATION ${TRIBUTARY_PYTHON_DIR} COMPONENT python
          PATTERN __pycache__ EXCLUDE PATTERN "*.so" EXCLUDE)
  install(TARGETS tributary_python LIBRARY DESTINATION ${TRIBUTARY_PYTHON_DIR}/tributary COMPONENT python)
endif()

# Every package has the licence and the history of its versions.
set(history ${PROJECT_BINARY_DIR}/debian)
file(CONFIGURE OUTPUT ${history}/changelog @ONLY CONTENT [[
tributary (@PROJECT_VERSION@) stable; urgency=medium

  * See CHANGELOG.md of the project.

 -- The Tributary authors <tributary@example.org>  Mon, 16 Nov 2026 12:00:00 +0000
]])
execute_process(COMMAND ${GZIP} -9nf ${history}/changelog)
file(READ LICENSE licence)
string(REGEX REPLACE "\n" "\n " licence "${licence}")
string(REGEX REPLACE "\n *\n" "\n .\n" licence "${licence}")
string(REGEX REPLACE "\n *\n" "\n .\n" licence "${licence}")
string(STRIP "${licence}" licence)
file(WRITE ${history}/copyright "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\n\n"
     "Files: *\nCopyright: The Tributary authors\nLicense: MIT\n ${licence}\n")
foreach(pair ${packages})
  string(REGEX MATCH "^(.*)=(.*)$" _ ${pair})
  string(TOUPPER ${CMAKE_MATCH_1} component)
  list(APPEND components ${CMAKE_MATCH_1})
  set(CPACK_DEBIAN_${component}_PACKAGE_NAME ${CMAKE_MATCH_2})
  set(CPACK_DEBIAN_${component}_FILE_NAME DEB-DEFAULT)
  install(FILES ${history}/copyright ${history}/changelog.gz DESTINATION share/doc/${CMAKE_MATCH_2}
          COMPONENT ${CMAKE_MATCH_1})
endforeach()

set(CPACK_GENERATOR DEB)
set(CPACK_COMPONENTS_ALL ${components})
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_CONTACT "The Tributary authors <tributary@example.org>")
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SECTION science)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_PYTHON_PACKAGE_SECTION python)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PYTHON_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PYTHON_PACKAGE_DEPENDS "${TRIBUTARY_PYTHON_DEPENDS}")
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS
    "libtorch-dev, libgloo-dev, libfmt-dev, nlohmann-json3-dev, libjpeg-dev, libpng-dev, zlib1g-dev, libwebp-dev, libtiff-dev, libgif-dev, libcairo2-dev")
set(about "Several image classifiers, each trained on another domain, are adapted
together to unlabelled pictures of a new one, by selective self-training.")
set(CPACK_COMPONENT_PROGRAM_DESCRIPTION "multi-source-free domain adaptation of image classifiers\n${about}")
set(CPACK_COMPONENT_DEVELOPMENT_DESCRIPTION "domain adaptation of image classifiers, C++ library\n${about}")
set(CPACK_COMPONENT_PYTHON_DESCRIPTION "domain adaptation of image classifiers, Python module\n${about}")
include(CPack)
