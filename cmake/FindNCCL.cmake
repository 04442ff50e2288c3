# NCCL, from the system, the CUDA Toolkit's directory or the wheel nvidia-nccl-cu*. Target: NCCL::nccl.

include(TandemVendorPackage)
tandem_find_vendor_package(NCCL
  WHEEL nccl HEADER nccl.h LIBRARY nccl libnccl.so.2
  VERSION_HEADER nccl.h VERSION_MACROS NCCL_MAJOR NCCL_MINOR NCCL_PATCH
  DEBIAN "install libnccl-dev")

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(NCCL REQUIRED_VARS NCCL_LIBRARY NCCL_INCLUDE_DIR VERSION_VAR NCCL_VERSION)

if(NCCL_FOUND AND NOT TARGET NCCL::nccl)
  add_library(NCCL::nccl UNKNOWN IMPORTED)
  set_target_properties(NCCL::nccl PROPERTIES
    IMPORTED_LOCATION ${NCCL_LIBRARY} INTERFACE_INCLUDE_DIRECTORIES ${NCCL_INCLUDE_DIR})
endif()
