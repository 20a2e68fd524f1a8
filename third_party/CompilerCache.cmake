# Compiles through ccache, precompiled headers included, with hits shared by all clones of this tree.

find_program(CCACHE ccache)
mark_as_advanced(CCACHE)
if(TORCHDYN_CCACHE AND CCACHE)
  # Paths below the source folder are hashed relative to the build folder, and the build folder itself
  # is not hashed: a build at the same depth of another clone hits. The two kinds of sloppiness are
  # what ccache's manual asks for where a precompiled header is used.
  set(launcher env CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1
      CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime ${CCACHE})
  set(CMAKE_C_COMPILER_LAUNCHER ${launcher})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${launcher})
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-fpch-preprocess>)
  endif()
endif()
