// Our own capture of Python frames, as Python sees it: _C.FrameCapture.
#pragma once

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

namespace torchdyn {

void add_frame_capture(pybind11::module_& module);

}  // namespace torchdyn
