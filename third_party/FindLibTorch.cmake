# Finds LibTorch in the Python wheel or in a LibTorch archive, by its files alone.
#
#   find_package(LibTorch REQUIRED)
#   target_link_libraries(mine PRIVATE torchdyn::torch torchdyn::openmp)
#
# PyTorch's own TorchConfig.cmake enables the CUDA language and so demands nvcc; a program that only
# links LibTorch needs no toolkit. Looks in TORCH_ROOT (the folder that holds include/ and lib/),
# in Torch_DIR (its share/cmake/Torch), in Python3_EXECUTABLE's torch, then in CMAKE_PREFIX_PATH.
#
# Defines
#   torchdyn::torch       libtorch_cpu and libc10 with their headers
#   torchdyn::torch_cuda  the same with libtorch_cuda and libc10_cuda loaded at start-up
#                         (absent where LibTorch was built without CUDA)
#   torchdyn::cuda_headers  CUDA's own headers, with nothing to link (absent likewise)
#   torchdyn::torch_python  libtorch_python with its headers, pybind11 among them (a wheel's alone)
#   torchdyn::openmp      OpenMP on the libgomp that libtorch_cpu loads: one thread pool a process.
#                         g++ gets pragmas. clang's -fopenmp would bring libomp, a second pool, so
#                         under clang the pragmas are ignored and only libgomp's functions (omp_*,
#                         GOMP_parallel) are there to call.
#   LibTorch_VERSION, TORCH_ROOT, TORCH_INCLUDE_DIR (of one header tree)

if(NOT TORCH_ROOT AND Torch_DIR)
  cmake_path(SET TORCH_ROOT NORMALIZE "${Torch_DIR}/../../..")
endif()
if(NOT TORCH_ROOT AND Python3_EXECUTABLE)
  # pip's build isolation hides installed packages by PYTHONPATH.
  execute_process(
    COMMAND "${CMAKE_COMMAND}" -E env --unset=PYTHONPATH "${Python3_EXECUTABLE}" -c
      "import importlib.util as u; print(u.find_spec('torch').submodule_search_locations[0])"
    OUTPUT_VARIABLE TORCH_ROOT OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
endif()
find_path(TORCH_INCLUDE_DIR ATen/ATen.h HINTS "${TORCH_ROOT}" PATH_SUFFIXES include)
find_library(TORCH_CPU_LIBRARY torch_cpu HINTS "${TORCH_INCLUDE_DIR}/../lib" NO_DEFAULT_PATH)
find_library(TORCH_C10_LIBRARY c10 HINTS "${TORCH_INCLUDE_DIR}/../lib" NO_DEFAULT_PATH)
find_library(TORCH_CUDA_LIBRARY torch_cuda HINTS "${TORCH_INCLUDE_DIR}/../lib" NO_DEFAULT_PATH)
find_library(TORCH_C10_CUDA_LIBRARY c10_cuda HINTS "${TORCH_INCLUDE_DIR}/../lib" NO_DEFAULT_PATH)
mark_as_advanced(TORCH_INCLUDE_DIR TORCH_CPU_LIBRARY TORCH_C10_LIBRARY TORCH_CUDA_LIBRARY
                 TORCH_C10_CUDA_LIBRARY)

set(_version_header "${TORCH_INCLUDE_DIR}/torch/headeronly/version.h")
if(EXISTS "${_version_header}")
  set(LibTorch_VERSION "")
  foreach(_part MAJOR MINOR PATCH)
    file(STRINGS "${_version_header}" _line REGEX "define TORCH_VERSION_${_part} ")
    string(REGEX REPLACE ".* ([0-9]+).*" ".\\1" _line "${_line}")
    string(APPEND LibTorch_VERSION "${_line}")
  endforeach()
  string(SUBSTRING "${LibTorch_VERSION}" 1 -1 LibTorch_VERSION)
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(LibTorch
  REQUIRED_VARS TORCH_CPU_LIBRARY TORCH_C10_LIBRARY TORCH_INCLUDE_DIR
  VERSION_VAR LibTorch_VERSION
  REASON_FAILURE_MESSAGE "pass -DTORCH_ROOT=... (third_party/setup --print-env prints it)")
if(NOT LibTorch_FOUND OR TARGET torchdyn::torch)
  return()
endif()
cmake_path(GET TORCH_INCLUDE_DIR PARENT_PATH TORCH_ROOT)

function(_torch_import name library)
  add_library(torchdyn::${name} SHARED IMPORTED)
  set_target_properties(torchdyn::${name} PROPERTIES IMPORTED_LOCATION "${library}")
  target_include_directories(torchdyn::${name} SYSTEM INTERFACE
    "${TORCH_INCLUDE_DIR}" "${TORCH_INCLUDE_DIR}/torch/csrc/api/include")
endfunction()

_torch_import(c10 "${TORCH_C10_LIBRARY}")
_torch_import(torch_cpu "${TORCH_CPU_LIBRARY}")
add_library(torchdyn::torch INTERFACE IMPORTED)
target_link_libraries(torchdyn::torch INTERFACE torchdyn::torch_cpu torchdyn::c10)

# Only a wheel has it.
find_library(TORCH_PYTHON_LIBRARY torch_python HINTS "${TORCH_ROOT}/lib" NO_DEFAULT_PATH)
mark_as_advanced(TORCH_PYTHON_LIBRARY)
if(TORCH_PYTHON_LIBRARY)
  _torch_import(torch_python "${TORCH_PYTHON_LIBRARY}")
  target_link_libraries(torchdyn::torch_python INTERFACE torchdyn::torch)
endif()

if(TORCH_CUDA_LIBRARY AND TORCH_C10_CUDA_LIBRARY)
  _torch_import(c10_cuda "${TORCH_C10_CUDA_LIBRARY}")
  # The wheel keeps CUDA's own headers (cuda.h, nvrtc.h) in a package beside torch.
  file(GLOB _cuda_headers "${TORCH_ROOT}/../nvidia/cu*/include")
  add_library(torchdyn::cuda_headers INTERFACE IMPORTED)
  target_include_directories(torchdyn::cuda_headers SYSTEM INTERFACE ${_cuda_headers})
  target_link_libraries(torchdyn::c10_cuda INTERFACE torchdyn::cuda_headers)
  add_library(torchdyn::torch_cuda INTERFACE IMPORTED)
  # No symbol of libtorch_cuda is named by callers: it registers kernels when it is loaded.
  target_link_libraries(torchdyn::torch_cuda INTERFACE
    "-Wl,--push-state,--no-as-needed" "${TORCH_CUDA_LIBRARY}" "-Wl,--pop-state"
    torchdyn::c10_cuda torchdyn::torch)
endif()

# The wheel's libgomp has its own file but may keep the system's soname; linking that very file makes
# the program ask for the name that libtorch_cpu asks for, and the loader maps one of the two.
add_library(torchdyn::openmp INTERFACE IMPORTED)
file(GLOB _gomp "${TORCH_ROOT}/lib/libgomp*.so*" "${TORCH_ROOT}/../torch.libs/libgomp*.so*")
if(_gomp)
  list(GET _gomp 0 _gomp)
  _torch_import(gomp "${_gomp}")
else()
  add_library(torchdyn::gomp INTERFACE IMPORTED)
  find_library(TORCH_GOMP_LIBRARY NAMES gomp libgomp.so.1 REQUIRED)
  target_link_libraries(torchdyn::gomp INTERFACE "${TORCH_GOMP_LIBRARY}")
endif()
target_link_libraries(torchdyn::openmp INTERFACE torchdyn::gomp)
target_compile_options(torchdyn::openmp INTERFACE
  $<$<CXX_COMPILER_ID:GNU>:-fopenmp> $<$<NOT:$<CXX_COMPILER_ID:GNU>>:-Wno-unknown-pragmas>)
