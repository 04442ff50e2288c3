# Compiler flags and the functions that every folder's CMakeLists.txt uses.

add_library(tandem_flags INTERFACE)
target_compile_features(tandem_flags INTERFACE cxx_std_20)
target_compile_options(tandem_flags INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion
    -Wno-missing-field-initializers -Werror>)  # designated initializers leave the rest at their defaults
if(TANDEM_NATIVE)
  target_compile_options(tandem_flags INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-march=native>)
endif()
if(TANDEM_SANITIZE)
  # ASan and UBSan on everything we compile; no inlining of frames away, no recovery from a finding.
  target_compile_options(tandem_flags INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-fsanitize=address,undefined
    -fno-sanitize-recover=all -fno-omit-frame-pointer>)
  target_link_options(tandem_flags INTERFACE -fsanitize=address,undefined)
endif()
find_package(Threads REQUIRED)
target_link_libraries(tandem_flags INTERFACE Threads::Threads)

find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE_PROGRAM})
  set(CMAKE_CUDA_COMPILER_LAUNCHER ${CCACHE_PROGRAM})
endif()

# tandem_library(<folder> SOURCES … DEPENDS … [PRIVATE_DEPENDS …])
#
# One static library for one folder of the tree. Its headers are included as "<folder>/name.h", and only by
# targets that link it: the include root of each library is a directory of the build tree that holds a single
# link to the folder. A header from a folder that is not a dependency is therefore not found.
function(tandem_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS;PRIVATE_DEPENDS" ${ARGN})
  set(root ${CMAKE_BINARY_DIR}/include/${name})
  file(MAKE_DIRECTORY ${root})
  file(CREATE_LINK ${CMAKE_CURRENT_SOURCE_DIR} ${root}/${name} SYMBOLIC)
  add_library(tandem_${name} STATIC ${ARG_SOURCES})
  add_library(tandem::${name} ALIAS tandem_${name})
  target_include_directories(tandem_${name} PUBLIC ${root})
  target_link_libraries(tandem_${name} PUBLIC tandem_flags ${ARG_DEPENDS} PRIVATE ${ARG_PRIVATE_DEPENDS})
endfunction()

# tandem_program(<name> SOURCES … DEPENDS … [INTERNAL])
#
# A program that users start: build/bin/<name>, <prefix>/bin/<name>, and, so that the commands of README.md are
# literal, a link ./<name> in the source tree. Sanitizer builds leave that link alone: it is the fast program's.
# INTERNAL: only other programs start it; installed as <prefix>/libexec/tandem/<name>, and not linked.
function(tandem_program name)
  cmake_parse_arguments(ARG "INTERNAL" "" "SOURCES;DEPENDS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE tandem_flags ${ARG_DEPENDS})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
  if(ARG_INTERNAL)
    install(TARGETS ${name} RUNTIME DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/tandem)
    return()
  endif()
  install(TARGETS ${name} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  if(NOT TANDEM_SANITIZE)
    file(RELATIVE_PATH program ${CMAKE_SOURCE_DIR} ${CMAKE_BINARY_DIR}/bin/${name})
    add_custom_command(TARGET ${name} POST_BUILD VERBATIM
      COMMAND ${CMAKE_COMMAND} -E create_symlink ${program} ${CMAKE_SOURCE_DIR}/${name})
  endif()
endfunction()
