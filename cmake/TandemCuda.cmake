# The CUDA backend: found or not, one line says which. TANDEM_HAVE_CUDA tells the folders to add their sources.
#
# It needs nvcc (CUDA >= 12.4), cuBLASLt, cuDNN >= 9, NCCL >= 2.20 and cudnn-frontend's headers. With
# TANDEM_CUDA=AUTO a missing piece turns the backend off; with ON it is an error that names the piece.

set(TANDEM_HAVE_CUDA OFF)
set(_cuda_missing "")

if(NOT TANDEM_CUDA STREQUAL "OFF")
  # nvcc need not be on the PATH where the toolkit lies in its usual place.
  if(NOT CMAKE_CUDA_COMPILER AND NOT DEFINED ENV{CUDACXX})
    find_program(TANDEM_NVCC nvcc HINTS ${CUDAToolkit_ROOT}/bin $ENV{CUDA_PATH}/bin /usr/local/cuda/bin)
    mark_as_advanced(TANDEM_NVCC)
    if(TANDEM_NVCC)
      set(CMAKE_CUDA_COMPILER ${TANDEM_NVCC} CACHE FILEPATH "CUDA compiler")
    endif()
  endif()
  set(CMAKE_CUDA_ARCHITECTURES 90 CACHE STRING "GPU architectures to compile for (90: H100, H200)")
  include(CheckLanguage)
  check_language(CUDA)
  if(CMAKE_CUDA_COMPILER)
    find_package(CUDAToolkit 12.4 QUIET)
    find_package(CUDNN 9 QUIET)
    find_package(NCCL 2.20 QUIET)
    find_package(CudnnFrontend 1.20 QUIET)
    if(NOT CUDAToolkit_FOUND)
      list(APPEND _cuda_missing "CUDA Toolkit >= 12.4 (found: ${CUDAToolkit_VERSION})")
    elseif(NOT TARGET CUDA::cublasLt OR NOT TARGET CUDA::nvrtc)
      list(APPEND _cuda_missing "cuBLASLt and NVRTC of the CUDA Toolkit")
    endif()
    foreach(package CUDNN NCCL CudnnFrontend)
      if(NOT ${package}_FOUND)
        list(APPEND _cuda_missing "${${package}_MISSING_MESSAGE}")
      endif()
    endforeach()
  else()
    list(APPEND _cuda_missing "a working nvcc (CUDA Toolkit >= 12.4)")
  endif()
  if(NOT _cuda_missing)
    set(TANDEM_HAVE_CUDA ON)
  endif()
endif()

if(TANDEM_HAVE_CUDA)
  enable_language(CUDA)
  # The standard goes by flag: CMake before 3.26 knows no cuda_std_20. -Wpedantic is left out: nvcc's own stubs
  # are not pedantic.
  target_compile_options(tandem_flags INTERFACE
    $<$<COMPILE_LANGUAGE:CUDA>:-std=c++20 --Werror=all-warnings -Xcompiler=-Wall,-Wextra -lineinfo>)
  message(STATUS "CUDA backend: on (CUDA ${CUDAToolkit_VERSION}, cuDNN ${CUDNN_VERSION}, NCCL ${NCCL_VERSION}, "
    "cudnn-frontend ${CudnnFrontend_VERSION}, sm ${CMAKE_CUDA_ARCHITECTURES})")
elseif(TANDEM_CUDA STREQUAL "OFF")
  message(STATUS "CUDA backend: off (TANDEM_CUDA=OFF)")
else()
  list(JOIN _cuda_missing "; " _cuda_missing)
  if(TANDEM_CUDA STREQUAL "ON")
    message(FATAL_ERROR "TANDEM_CUDA=ON, but these are missing: ${_cuda_missing}")
  endif()
  message(STATUS "CUDA backend: off (missing: ${_cuda_missing})")
endif()
