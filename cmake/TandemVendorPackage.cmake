# tandem_find_vendor_package(<name> WHEEL <dir> HEADER <h> LIBRARY <l…> VERSION_HEADER <h> VERSION_MACROS <M m p>
#                            DEBIAN <package> [INTERFACE])
#
# Looks for a header (and a library) of the GPU vendor, in this order: ${name}_ROOT, the CUDA Toolkit, the
# system's directories, and the vendor's Python wheels, which lie under <site-packages>/nvidia/<dir>. The hint
# TANDEM_SITE_PACKAGES names the site-packages of another Python, such as that of a virtual environment. Sets
# <name>_INCLUDE_DIR, <name>_LIBRARY, <name>_VERSION and <name>_MISSING_MESSAGE, in the caller's scope.

set(TANDEM_SITE_PACKAGES "" CACHE PATH "site-packages directory that holds the vendor's wheels (nvidia/cudnn, …)")

# Directories that may hold wheels: the hint, then what the first Python on the PATH uses.
function(_tandem_wheel_roots result)
  set(roots ${TANDEM_SITE_PACKAGES})
  find_program(TANDEM_PYTHON python3)
  mark_as_advanced(TANDEM_PYTHON)
  if(TANDEM_PYTHON)
    execute_process(COMMAND ${TANDEM_PYTHON} -c
      "import site, sysconfig; print(';'.join([sysconfig.get_paths()['purelib'], *site.getsitepackages(), site.getusersitepackages()]))"
      OUTPUT_VARIABLE found OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
    list(APPEND roots ${found})
  endif()
  list(REMOVE_DUPLICATES roots)
  set(${result} ${roots} PARENT_SCOPE)
endfunction()

function(tandem_find_vendor_package name)
  cmake_parse_arguments(ARG "INTERFACE" "WHEEL;HEADER;VERSION_HEADER;DEBIAN" "LIBRARY;VERSION_MACROS;HINTS" ${ARGN})
  _tandem_wheel_roots(site_packages)
  set(wheels "")
  foreach(root ${site_packages})
    list(APPEND wheels ${root}/nvidia/${ARG_WHEEL} ${root}/nvidia/cu13 ${root}/nvidia/cu12 ${root})
  endforeach()
  set(prefixes ${${name}_ROOT} ${ARG_HINTS} ${CUDAToolkit_TARGET_DIR} ${CUDAToolkit_LIBRARY_ROOT} /usr/local/cuda)

  # Two calls: the usual places go before the wheels, whichever Python happens to be on the PATH.
  find_path(${name}_INCLUDE_DIR ${ARG_HEADER} HINTS ${prefixes} PATH_SUFFIXES include)
  find_path(${name}_INCLUDE_DIR ${ARG_HEADER} HINTS ${wheels} PATH_SUFFIXES include)
  mark_as_advanced(${name}_INCLUDE_DIR)
  if(NOT ARG_INTERFACE AND ${name}_INCLUDE_DIR)
    get_filename_component(home ${${name}_INCLUDE_DIR} DIRECTORY)  # a wheel's library beside its header
    find_library(${name}_LIBRARY NAMES ${ARG_LIBRARY}
      HINTS ${home} ${prefixes} ${wheels} PATH_SUFFIXES lib lib64 lib/${CMAKE_LIBRARY_ARCHITECTURE})
    mark_as_advanced(${name}_LIBRARY)
  endif()

  set(version "")
  if(${name}_INCLUDE_DIR AND EXISTS ${${name}_INCLUDE_DIR}/${ARG_VERSION_HEADER})
    file(STRINGS ${${name}_INCLUDE_DIR}/${ARG_VERSION_HEADER} lines REGEX "^#define +[A-Z_]+ +[0-9]+")
    foreach(macro ${ARG_VERSION_MACROS})
      foreach(line ${lines})
        if(line MATCHES "^#define +${macro} +([0-9]+)")
          list(APPEND version ${CMAKE_MATCH_1})
        endif()
      endforeach()
    endforeach()
    list(JOIN version "." version)
  endif()
  set(${name}_VERSION "${version}" PARENT_SCOPE)

  set(message "${name} >= ${${name}_FIND_VERSION}")
  if(version AND version VERSION_LESS "${${name}_FIND_VERSION}")
    string(APPEND message ", found ${version} in ${${name}_INCLUDE_DIR}")
  elseif(${name}_INCLUDE_DIR AND NOT ARG_INTERFACE AND NOT ${name}_LIBRARY)
    string(APPEND message ", found its header in ${${name}_INCLUDE_DIR} but no library")
  endif()
  set(${name}_MISSING_MESSAGE "${message} (${ARG_DEBIAN}, or set ${name}_ROOT or TANDEM_SITE_PACKAGES)" PARENT_SCOPE)
endfunction()
