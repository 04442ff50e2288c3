# cudnn-frontend, headers only: .deps/cudnn-frontend (scripts/get_cudnn_frontend.sh), the system, or the wheel
# nvidia-cudnn-frontend. Target: CudnnFrontend::headers; it does not link cuDNN itself.

include(TandemVendorPackage)
tandem_find_vendor_package(CudnnFrontend INTERFACE
  WHEEL cudnn_frontend HEADER cudnn_frontend.h HINTS ${CMAKE_SOURCE_DIR}/.deps/cudnn-frontend
  VERSION_HEADER cudnn_frontend_version.h
  VERSION_MACROS CUDNN_FRONTEND_MAJOR_VERSION CUDNN_FRONTEND_MINOR_VERSION CUDNN_FRONTEND_PATCH_VERSION
  DEBIAN "run scripts/get_cudnn_frontend.sh")

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(CudnnFrontend REQUIRED_VARS CudnnFrontend_INCLUDE_DIR
  VERSION_VAR CudnnFrontend_VERSION)

if(CudnnFrontend_FOUND AND NOT TARGET CudnnFrontend::headers)
  add_library(CudnnFrontend::headers INTERFACE IMPORTED)
  set_target_properties(CudnnFrontend::headers PROPERTIES
    INTERFACE_INCLUDE_DIRECTORIES ${CudnnFrontend_INCLUDE_DIR}
    # Without JSON: its bundled copy would meet the system's in one program.
    INTERFACE_COMPILE_DEFINITIONS CUDNN_FRONTEND_SKIP_JSON_LIB)
endif()
