"""Includes point down, and the path names the layer."""
import os.path
import re
import unittest

import tree

CORE = ("aten_bridge/base", "aten_bridge/symbolic", "aten_bridge/graph")
ATEN = tuple("aten_bridge/" + f for f in ("trace", "fake", "decompose", "autograd", "guards"))
STAGES = tuple("inductor/" + f for f in ("ir", "lowering", "passes", "schedule", "emit"))
PYTHON = tuple(
    "torchdyn/" + f for f in ("cpython", "bytecode", "variables", "builtins", "capture", "guards")
)

# folder -> the folders that it may include; the longest matching folder decides.
ALLOWED = {
    **{f: CORE for f in CORE},
    **{f: CORE + ATEN for f in ATEN},
    **{f: CORE + STAGES + ("inductor/runtime/core",) for f in STAGES},
    "inductor": CORE + ("inductor",),
    "inductor/runtime/core": CORE + STAGES + ("inductor/runtime/core", "inductor/backend"),
    "inductor/runtime/aten": CORE + ("inductor",),
    **{f: CORE + ATEN + PYTHON for f in PYTHON},
    "torchdyn/bytecode": ("aten_bridge/base", "torchdyn/bytecode"),
    "torchdyn/cpython": ("aten_bridge/base", "aten_bridge/guards", "torchdyn/bytecode", "torchdyn/cpython"),
    "torchdyn/package/format": CORE + ("torchdyn/package/format",),
    "torchdyn/package/plain": CORE + STAGES + (
        "inductor/runtime/core", "inductor/backend", "torchdyn/package/format", "torchdyn/package/plain"),
    "torchdyn/c_api": ("torchdyn/c_api", "torchdyn/package/format", "torchdyn/package/plain") + CORE,
    "torchdyn/c_api/aten": ("aten_bridge", "torchdyn"),
    "torchdyn/package/command": CORE + ("inductor/runtime/core", "torchdyn/c_api", "torchdyn/package"),
    "torchdyn": ("aten_bridge", "inductor", "torchdyn"),
}
# The one door to ATen inside inductor; no other folder of it may look through, but inductor/compile.cc
# and its like, which join the folders.
ATEN_DOOR = "inductor/runtime/aten"

MAY_INCLUDE_TORCH = ATEN + (ATEN_DOOR,) + tuple(
    "torchdyn/" + f for f in ("package", "c_api", "python", "replay", "cpython/tensor_abi.cc")
)
MAY_INCLUDE_PYTHON = tuple(f for f in PYTHON if f != "torchdyn/bytecode") + ("torchdyn/python",)
KNOWS_ONE_VERSION = re.compile(r"torchdyn/cpython/abi_3_\d+\.c")

OURS = ("aten_bridge/", "inductor/", "torchdyn/", "tests/", "bench/")
INCLUDE = re.compile(r'^\s*#\s*include\s+([<"])([^>"]+)[>"]', re.MULTILINE)


def under(path, folders):
    return any(path == f or path.startswith(f + "/") for f in folders)


def is_torch(included):
    return included.startswith(("ATen/", "torch/", "c10/", "caffe2/"))


def used_outside(path):
    """Whether this header is included outside the folders that may include Torch, tests aside."""
    line = f'#include "{path}"'
    others = (f for f in tree.files(".cc", ".h") if not under(f, MAY_INCLUDE_TORCH + ("tests",)))
    return any(line in tree.read(f) for f in others)


def may_include_torch(path, used_outside):
    """Torch belongs into sources and into headers that only the layers over it include; the headers
    of the public doors are templates over it."""
    if os.path.dirname(path) == "torchdyn":
        return True
    own = path.endswith((".cc", ".c")) or not used_outside(path)
    return own and under(path, MAY_INCLUDE_TORCH)


def problems(path, text, exists=lambda p: (tree.ROOT / p).exists(), used_outside=used_outside):
    """Every include of this file that breaks a rule, with the rule."""
    found = []
    includes = [(m[1], m[2]) for m in INCLUDE.finditer(text)]
    own = os.path.splitext(path)[0] + ".h"
    if path.endswith((".cc", ".c")) and exists(own) and includes and includes[0][1] != own:
        found.append(f'{path}: its own header "{own}" comes first')
    layer = max((f for f in ALLOWED if under(path, (f,))), key=len, default=None)
    for quote, included in includes:
        if quote == '"' and not included.startswith(OURS + ("absl/",)):
            found.append(f'{path}: "{included}": write the path from the top folder')
        if layer is None:
            continue
        if included.startswith(OURS):
            down = under(included, ALLOWED[layer])
            if included.startswith(ATEN_DOOR) and layer.startswith("inductor"):
                down = layer == ATEN_DOOR or os.path.dirname(path) == "inductor"
            if not down:
                found.append(f"{path}: {included} is not below {layer}")
        if is_torch(included) and not may_include_torch(path, used_outside):
            found.append(f"{path}: <{included}>: not one of the doors to ATen")
        if included == "Python.h" and not under(path, MAY_INCLUDE_PYTHON):
            found.append(f"{path}: Python.h belongs into torchdyn's Python folders")
        if "pycore_" in included and not KNOWS_ONE_VERSION.fullmatch(path):
            found.append(f"{path}: {included}: only torchdyn/cpython/abi_3_NN.c")
    if "PY_VERSION_HEX" in text and not KNOWS_ONE_VERSION.fullmatch(path):
        found.append(f"{path}: PY_VERSION_HEX: only torchdyn/cpython/abi_3_NN.c")
    return found


class LayersTest(unittest.TestCase):
    def test_this_tree(self):
        found = []
        for path in tree.files(".cc", ".c", ".h", ".cuh", ".def"):
            found += problems(path, tree.read(path))
        self.assertFalse(found, "\n" + "\n".join(found))

    def test_can_fail(self):
        def complaints(path, *includes, shared=True):
            text = "\n".join("#include " + i for i in includes)
            return len(problems(path, text, lambda p: False, lambda p: shared))

        ir = "inductor/ir/a.cc"
        self.assertEqual(complaints(ir, "<vector>", '"absl/types/span.h"', '"inductor/ir/b.h"'), 0)
        self.assertEqual(complaints(ir, '"aten_bridge/trace/capture.h"'), 1)
        self.assertEqual(complaints(ir, '"inductor/runtime/aten/run.h"'), 1)
        self.assertEqual(complaints(ir, "<ATen/ATen.h>", '"torchdyn/compile.h"', '"b.h"'), 3)
        self.assertEqual(complaints("aten_bridge/graph/a.cc", '"inductor/ir/expr.h"'), 1)
        self.assertEqual(complaints("aten_bridge/trace/a.cc", "<ATen/ATen.h>"), 0)
        self.assertEqual(complaints("aten_bridge/trace/a.h", "<ATen/ATen.h>"), 1)
        self.assertEqual(complaints("aten_bridge/trace/a.h", "<ATen/ATen.h>", shared=False), 0)
        self.assertEqual(complaints("inductor/compile.cc", '"inductor/runtime/aten/run.h"'), 0)
        self.assertEqual(complaints("inductor/cache/a.cc", '"inductor/runtime/aten/run.h"'), 1)
        self.assertEqual(complaints("torchdyn/compile.h", "<torch/torch.h>", '"inductor/compile.h"'), 0)
        self.assertEqual(complaints("torchdyn/capture/a.cc", '"inductor/compile.h"'), 1)
        self.assertEqual(complaints("torchdyn/cpython/abi_3_12.c", '<internal/pycore_frame.h>'), 0)
        self.assertEqual(complaints("torchdyn/cpython/abi.cc", '<internal/pycore_frame.h>'), 1)
        self.assertEqual(complaints("torchdyn/cpython/abi.cc", '"torchdyn/bytecode/version.h"'), 0)
        self.assertEqual(complaints("torchdyn/bytecode/a.cc", '"torchdyn/cpython/abi.h"', "<Python.h>"), 2)
        versions = "#if PY_VERSION_HEX > 0\n"
        self.assertEqual(len(problems("torchdyn/cpython/abi.cc", versions, lambda p: False)), 1)
        self.assertEqual(
            len(problems("inductor/ir/a.cc", "#include <vector>\n", lambda p: True)), 1
        )


if __name__ == "__main__":
    unittest.main()
