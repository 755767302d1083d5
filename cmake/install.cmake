# cmake --install: the program, the library with its headers, CMake and pkg-config files, manual pages and completions;
# components program, development and python become the packages of cmake/packages.cmake.
set(CMAKE_INSTALL_RPATH_USE_LINK_PATH ON)  # a LibTorch outside of the usual folders is found again
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

install(TARGETS tributary tributary_main RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT program)

# The public headers and those that they include, directly or not.
function(collect_headers header)
  get_property(known GLOBAL PROPERTY TRIBUTARY_HEADERS)
  if(header IN_LIST known OR NOT EXISTS ${PROJECT_SOURCE_DIR}/${header})
    return()
  endif()
  set_property(GLOBAL APPEND PROPERTY TRIBUTARY_HEADERS ${header})
  file(STRINGS ${PROJECT_SOURCE_DIR}/${header} lines REGEX "^#include \"tributary/")
  foreach(line ${lines})
    string(REGEX REPLACE "^#include \"([^\"]*)\".*" "\\1" included "${line}")
    collect_headers(${included})
  endforeach()
endfunction()
collect_headers(tributary/tributary.h)
collect_headers(tributary/method.h)
get_property(headers GLOBAL PROPERTY TRIBUTARY_HEADERS)
foreach(header ${headers})
  get_filename_component(folder ${header} DIRECTORY)
  install(FILES ${header} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/${folder} COMPONENT development)
endforeach()
install(FILES ${PROJECT_BINARY_DIR}/include/tributary/version.h
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/tributary COMPONENT development)
install(TARGETS tributary_library ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development)

# What users of the static library link besides. Torch and packages with a CMake file are found again; others keep the
# name of their file.
set(plain_libraries "")
foreach(library ${FMT_LIBRARY} ${CAIRO_LIBRARY} ${WEBPDEMUX_LIBRARY} ${WEBP_LIBRARY} ${TIFF_LIBRARY} ${GIF_LIBRARY}
                ${GLOO_LIBRARY} ${NCCL_LIBRARY})
  if(library)
    list(APPEND plain_libraries ${library})
  endif()
endforeach()
set(TRIBUTARY_DEFINITIONS "")
if(NOT (FMT_LIBRARY AND FMT_LINKS))
  list(APPEND TRIBUTARY_DEFINITIONS FMT_HEADER_ONLY)
endif()
set(TRIBUTARY_LIBRARIES ${plain_libraries})
set(TRIBUTARY_NEEDS_CUDA OFF)
if(TORCH_CUDA_LIBRARIES OR TARGET torch_cuda)
  set(TRIBUTARY_NEEDS_CUDA ON)
endif()
set(TRIBUTARY_ARCHIVE ${CMAKE_STATIC_LIBRARY_PREFIX}tributary${CMAKE_STATIC_LIBRARY_SUFFIX})
set(config_folder ${CMAKE_INSTALL_LIBDIR}/cmake/Tributary)
configure_package_config_file(cmake/TributaryConfig.cmake.in TributaryConfig.cmake INSTALL_DESTINATION ${config_folder}
                              PATH_VARS CMAKE_INSTALL_INCLUDEDIR CMAKE_INSTALL_LIBDIR)
write_basic_package_version_file(TributaryConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/TributaryConfig.cmake ${PROJECT_BINARY_DIR}/TributaryConfigVersion.cmake
        DESTINATION ${config_folder} COMPONENT development)

# pkg-config: flags in place of file names.
function(link_flags result)
  set(flags "")
  foreach(library ${ARGN})
    get_filename_component(folder ${library} DIRECTORY)
    get_filename_component(name ${library} NAME)
    string(REGEX REPLACE "^lib(.*)\\.(so|a).*$" "\\1" name ${name})
    if(folder AND NOT folder IN_LIST CMAKE_CXX_IMPLICIT_LINK_DIRECTORIES)
      list(APPEND flags -L${folder})
    endif()
    list(APPEND flags -l${name})
  endforeach()
  list(REMOVE_DUPLICATES flags)
  list(JOIN flags " " flags)
  set(${result} "${flags}" PARENT_SCOPE)
endfunction()
get_target_property(torch_file torch_cpu IMPORTED_LOCATION_RELEASE)
if(NOT torch_file)
  get_target_property(torch_file torch_cpu IMPORTED_LOCATION)
endif()
if(NOT torch_file)
  set(torch_file ${TORCH_INSTALL_PREFIX}/lib/libtorch_cpu.so)
endif()
get_filename_component(torch_folder ${torch_file} DIRECTORY)
link_flags(TRIBUTARY_LINK_FLAGS ${torch_folder}/libtorch.so ${torch_file} ${torch_folder}/libc10.so ${plain_libraries})
set(TRIBUTARY_INCLUDE_FLAGS "")
foreach(folder ${TORCH_INCLUDE_DIRS})
  if(NOT folder STREQUAL "/usr/include")
    string(APPEND TRIBUTARY_INCLUDE_FLAGS " -I${folder}")
  endif()
endforeach()
foreach(definition ${TRIBUTARY_DEFINITIONS})
  string(APPEND TRIBUTARY_INCLUDE_FLAGS " -D${definition}")
endforeach()
# The prefix, seen from the folder of tributary.pc, and the folders below it.
file(RELATIVE_PATH TRIBUTARY_TO_PREFIX /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
set(TRIBUTARY_PC_PREFIX "\${pcfiledir}/${TRIBUTARY_TO_PREFIX}")
string(REGEX REPLACE "/$" "" TRIBUTARY_PC_PREFIX "${TRIBUTARY_PC_PREFIX}")
if(IS_ABSOLUTE "${CMAKE_INSTALL_LIBDIR}")
  set(TRIBUTARY_PC_PREFIX "${CMAKE_INSTALL_PREFIX}")
endif()
foreach(folder INCLUDEDIR LIBDIR)
  set(TRIBUTARY_PC_${folder} "\${prefix}/${CMAKE_INSTALL_${folder}}")
  if(IS_ABSOLUTE "${CMAKE_INSTALL_${folder}}")
    set(TRIBUTARY_PC_${folder} "${CMAKE_INSTALL_${folder}}")
  endif()
endforeach()
configure_file(cmake/tributary.pc.in tributary.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/tributary.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT development)

# Manual pages and completions, written by the program from its tables of options.
set(manual ${PROJECT_BINARY_DIR}/manual)
find_program(GZIP gzip REQUIRED)
add_custom_command(OUTPUT ${manual}/tributary.bash VERBATIM
  COMMAND ${CMAKE_COMMAND} -E rm -rf ${manual}
  COMMAND tributary_main options --manual ${manual}
  COMMAND ${CMAKE_COMMAND} -E chdir ${manual} sh -c "${GZIP} -9nf man1/*.1"
  DEPENDS tributary_main COMMENT "Writing manual pages and completions")
add_custom_target(tributary_manual ALL DEPENDS ${manual}/tributary.bash)
install(DIRECTORY ${manual}/man1 DESTINATION ${CMAKE_INSTALL_MANDIR} COMPONENT program)
install(FILES ${manual}/tributary.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions
        RENAME tributary COMPONENT program)
install(FILES ${manual}/_tributary DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions COMPONENT program)
install(FILES ${manual}/tributary.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d COMPONENT program)

include(${CMAKE_CURRENT_LIST_DIR}/packages.cmake)
