# precompile_headers(PCH HEADER...): compiles LibTorch's headers once, as target PCH.
# use_precompiled(PCH TARGET...): those targets start from it; without such a PCH, nothing happens.
#
# g++ takes a precompiled header only under the flags that it was compiled with, hence the same position
# independence and OpenMP for all that link torchdyn_flags and torchdyn::openmp.
function(precompile_headers pch)
  add_library(${pch} OBJECT "${generated}/empty.cc")
  target_link_libraries(${pch} PRIVATE torchdyn_flags torchdyn::torch torchdyn::openmp)
  target_precompile_headers(${pch} PRIVATE ${ARGN})
endfunction()

function(use_precompiled pch)
  if(TARGET ${pch})
    foreach(target IN LISTS ARGN)
      target_precompile_headers(${target} REUSE_FROM ${pch})
    endforeach()
  endif()
endfunction()
