"""torchdyn: compiles what PyTorch programs compute with tensors.

    compiled = torch.compile(model, backend="torchdyn")  # PyTorch's capture, or our own:
    compiled = torchdyn.compile(model)
    y = compiled(x)                          # forward and backward run our kernels
    print(torchdyn.explain(model)(x))        # what became of it
"""
import torch

from torchdyn import _build

_build.check(torch.__version__)

from torchdyn.graph_backend import backend  # noqa: E402  after the check
from torchdyn import element  # noqa: E402
from torchdyn.compiler import (  # noqa: E402
    allow_in_graph, compile, compile_count, disable, list_backends, mark_dynamic, mark_static,
    register_backend)
from torchdyn.calls import CompiledCall, compile_calls  # noqa: E402
from torchdyn.extend import register_decomposition, register_lowering  # noqa: E402
from torchdyn.explanation import Explanation, explain  # noqa: E402
from torchdyn.saved import Package, PackageError, Trainer, load, package  # noqa: E402
from torchdyn import _C  # noqa: E402
from torchdyn.options import config  # noqa: E402

__version__ = _build.VERSION
__all__ = ["CompiledCall", "Explanation", "Package", "PackageError", "Trainer", "__version__", "allow_in_graph",
           "backend", "compile", "compile_calls", "compile_count", "config", "disable", "element",
           "explain", "list_backends", "load", "mark_dynamic", "mark_static", "package", "register_backend",
           "register_decomposition", "register_lowering", "reset"]


def reset() -> None:
    """Forgets all compiled code: what runs next is captured and compiled anew."""
    torch._dynamo.reset()
    _C.forget_captures()
