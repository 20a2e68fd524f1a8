# embed_text(TARGET NAMESPACE FOLDER): makes the files of FOLDER part of TARGET, byte for byte.
#
#   embed_text(inductor_core inductor "inductor/emit/preamble")
#   #include "inductor/emit/preamble/embedded.h"   // std::string_view inductor::td_cpu_h();
#
# A file td_cpu.h becomes the function td_cpu_h(). No time or path gets in, so builds stay cacheable.
function(embed_text target namespace folder)
  file(GLOB files CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/${folder}/*")
  list(FILTER files EXCLUDE REGEX "\\.md$")
  set(declarations "")
  set(definitions "")
  foreach(file IN LISTS files)
    # An edited file runs the configure step again.
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${file}")
    cmake_path(GET file FILENAME name)
    string(MAKE_C_IDENTIFIER "${name}" name)
    file(READ "${file}" bytes HEX)
    string(REGEX REPLACE "(..)" "0x\\1," bytes "${bytes}")
    string(REGEX REPLACE "(................................................................................)"
           "\\1\n" bytes "${bytes}")
    string(APPEND declarations "std::string_view ${name}();\n")
    string(APPEND definitions
      "static const unsigned char ${name}_bytes[] = {\n${bytes}0};\n"
      "std::string_view ${name}() {\n"
      "  return {reinterpret_cast<const char*>(${name}_bytes), sizeof(${name}_bytes) - 1};\n}\n\n")
  endforeach()
  set(header "${folder}/embedded.h")
  set(output "${PROJECT_BINARY_DIR}/generated/${folder}")
  file(CONFIGURE OUTPUT "${output}/embedded.h" @ONLY CONTENT
    "#pragma once\n\n#include <string_view>\n\nnamespace ${namespace} {\n\n${declarations}\n}  // namespace ${namespace}\n")
  file(CONFIGURE OUTPUT "${output}/embedded.cc" @ONLY CONTENT
    "#include \"${header}\"\n\nnamespace ${namespace} {\n\n${definitions}}  // namespace ${namespace}\n")
  target_sources(${target} PRIVATE "${output}/embedded.cc")
endfunction()
