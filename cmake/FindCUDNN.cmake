# cuDNN, from the system, the CUDA Toolkit's directory or the wheel nvidia-cudnn-cu*. Target: CUDNN::cudnn.

include(TandemVendorPackage)
tandem_find_vendor_package(CUDNN
  WHEEL cudnn HEADER cudnn.h LIBRARY cudnn libcudnn.so.9
  VERSION_HEADER cudnn_version.h VERSION_MACROS CUDNN_MAJOR CUDNN_MINOR CUDNN_PATCHLEVEL
  DEBIAN "install cudnn9-cuda or nvidia-cudnn")

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(CUDNN REQUIRED_VARS CUDNN_LIBRARY CUDNN_INCLUDE_DIR VERSION_VAR CUDNN_VERSION)

if(CUDNN_FOUND AND NOT TARGET CUDNN::cudnn)
  add_library(CUDNN::cudnn UNKNOWN IMPORTED)
  set_target_properties(CUDNN::cudnn PROPERTIES
    IMPORTED_LOCATION ${CUDNN_LIBRARY} INTERFACE_INCLUDE_DIRECTORIES ${CUDNN_INCLUDE_DIR})
endif()
