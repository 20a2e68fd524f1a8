# find_python_versions(3.11 3.12 3.13): the interpreters that tests of CPython's internals run on.
#
# Sets PYTHON_VERSIONS to those that were found, and for each PYTHON_3_12_EXECUTABLE and
# PYTHON_3_12_INCLUDE. -DTORCHDYN_PYTHON_3_12=/path/to/python names one; otherwise it is python3.12 of
# the PATH, or of a pyenv. One without headers does not count.
function(describe_python executable version result)
  set(${result} "" PARENT_SCOPE)
  execute_process(
    COMMAND "${executable}" -c "
import os, sys, sysconfig
include = sysconfig.get_path('include')
usable = sys.implementation.name == 'cpython' and not sysconfig.get_config_var('Py_GIL_DISABLED')
assert usable and os.path.exists(os.path.join(include, 'internal', 'pycore_frame.h'))
print('%d.%d;%s;%s' % (*sys.version_info[:2], sys.executable, include), end='')"
    OUTPUT_VARIABLE description RESULT_VARIABLE status ERROR_QUIET)
  if(status EQUAL 0 AND description MATCHES "^${version};")
    set(${result} "${description}" PARENT_SCOPE)
  endif()
endfunction()

function(find_python_version version)
  string(REPLACE "." "_" name "${version}")
  set(pyenv "$ENV{PYENV_ROOT}")
  if(NOT pyenv)
    set(pyenv "$ENV{HOME}/.pyenv")
  endif()
  file(GLOB in_pyenv "${pyenv}/versions/${version}.*/bin/python3")
  set(TORCHDYN_PYTHON_${name} "" CACHE FILEPATH "A CPython ${version} with headers, for tests")
  foreach(candidate ${TORCHDYN_PYTHON_${name}} python${version} ${in_pyenv})
    describe_python("${candidate}" "${version}" description)
    if(description)
      list(GET description 1 executable)
      list(GET description 2 include)
      set(PYTHON_${name}_EXECUTABLE "${executable}" PARENT_SCOPE)
      set(PYTHON_${name}_INCLUDE "${include}" PARENT_SCOPE)
      return()
    endif()
  endforeach()
endfunction()

macro(find_python_versions)
  set(PYTHON_VERSIONS "")
  foreach(version ${ARGV})
    find_python_version(${version})
    string(REPLACE "." "_" name "${version}")
    if(PYTHON_${name}_EXECUTABLE)
      list(APPEND PYTHON_VERSIONS ${version})
    else()
      message(WARNING "No CPython ${version} with headers: torchdyn is not tested on it. "
        "-DTORCHDYN_PYTHON_${name}=... names one.")
    endif()
  endforeach()
endmacro()
