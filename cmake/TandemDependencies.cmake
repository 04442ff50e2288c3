# Everything comes from the distribution's packages; scripts/setup.sh installs them.

macro(tandem_require package debian_name)
  find_package(${package} ${ARGN} QUIET)
  if(NOT ${package}_FOUND)
    message(FATAL_ERROR "${package} was not found. Run scripts/setup.sh, or install the package ${debian_name}.")
  endif()
endmacro()

tandem_require(fmt libfmt-dev)
tandem_require(spdlog libspdlog-dev)
tandem_require(Eigen3 libeigen3-dev 3.4)
tandem_require(yaml-cpp libyaml-cpp-dev)
tandem_require(CLI11 libcli11-dev)
tandem_require(nlohmann_json nlohmann-json3-dev)
tandem_require(ZLIB zlib1g-dev)
tandem_require(MPI libopenmpi-dev COMPONENTS C)

# Pages carry the chart library within them. Its UMD build is a script that needs no module loader; the name of the file
# changed with version 4.
find_file(TANDEM_CHART_JS NAMES chart.min.js chart.umd.min.js chart.umd.js Chart.min.js
  PATHS /usr/share/javascript/chart.js /usr/share/nodejs/chart.js/dist ${CMAKE_SOURCE_DIR}/.deps/chart.js NO_DEFAULT_PATH)
if(NOT TANDEM_CHART_JS)
  message(FATAL_ERROR "Chart.js was not found. Run scripts/setup.sh, or install the package libjs-chart.js.")
endif()

find_package(PkgConfig REQUIRED)
pkg_check_modules(HWLOC REQUIRED IMPORTED_TARGET hwloc)

if(NOT TARGET yaml-cpp::yaml-cpp)  # yaml-cpp before 0.8 exports the plain name only
  add_library(yaml-cpp::yaml-cpp ALIAS yaml-cpp)
endif()
