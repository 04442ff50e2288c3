# tandem_rank_test(<name> RANKS 1 2 3 … [LINKS auto shm tcp] SOURCES … DEPENDS …)
#
# One GoogleTest program that runs on every rank of a job (support/rank_test_main.cpp starts MPI), and one ctest
# test per world size and link: <name>.np<N> for auto, else <name>.np<N>.<link>.
set(TANDEM_MPIRUN ${MPIEXEC_EXECUTABLE} ${MPIEXEC_NUMPROC_FLAG})

# More ranks than cores is normal here, and containers run as root.
set(TANDEM_MPIRUN_FLAGS --oversubscribe --bind-to none)
# Open MPI keeps memory until the process ends, which is no leak of ours.
set(TANDEM_RANK_LEAKS ASAN_OPTIONS=detect_leaks=0)
set(TANDEM_MPIRUN_ENVIRONMENT OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 ${TANDEM_RANK_LEAKS})

function(tandem_rank_test name)
  cmake_parse_arguments(ARG "" "" "RANKS;LINKS;SOURCES;DEPENDS" ${ARGN})
  if(NOT ARG_LINKS)
    set(ARG_LINKS auto)
  endif()
  add_executable(${name} ${ARG_SOURCES} ${CMAKE_SOURCE_DIR}/tests/support/rank_test_main.cpp)
  target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR}/tests)  # "support/…"
  target_link_libraries(${name} PRIVATE ${ARG_DEPENDS} tandem::comm GTest::gtest GTest::gmock)
  foreach(ranks ${ARG_RANKS})
    foreach(link ${ARG_LINKS})
      set(test ${name}.np${ranks})
      if(NOT link STREQUAL auto)
        string(APPEND test .${link})
      endif()
      add_test(NAME ${test}
        COMMAND ${TANDEM_MPIRUN} ${ranks} ${TANDEM_MPIRUN_FLAGS} $<TARGET_FILE:${name}> --link=${link})
      set_tests_properties(${test} PROPERTIES
        ENVIRONMENT "${TANDEM_MPIRUN_ENVIRONMENT}" PROCESSORS ${ranks} TIMEOUT 180)
    endforeach()
  endforeach()
endfunction()

# tandem_rank_program(<name> <source>): a program that a test starts on the ranks of a job of its own.
function(tandem_rank_program name source)
  add_executable(${name} ${source})
  target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR}/tests)  # "ranks/…", "support/…"
  target_link_libraries(${name} PRIVATE tandem::train)
endfunction()

# tandem_mpirun_line(<variable> <ranks>): the beginning of a shell command that starts one and ends it after 90 s.
function(tandem_mpirun_line variable ranks)
  list(JOIN TANDEM_MPIRUN " " mpirun)
  list(JOIN TANDEM_MPIRUN_FLAGS " " flags)
  list(JOIN TANDEM_MPIRUN_ENVIRONMENT " " environment)
  set(${variable} "env ${environment} timeout 90 ${mpirun} ${ranks} ${flags}" PARENT_SCOPE)
endfunction()
