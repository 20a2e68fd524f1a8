"""torchdyn: compiles what PyTorch programs compute with tensors.

    compiled = torch.compile(model, backend="torchdyn")
    y = compiled(x)                          # forward and backward run our kernels
    print(torchdyn.explain(model)(x))        # what became of it
"""
import torch

from torchdyn import _build

_build.check(torch.__version__)

from torchdyn.graph_backend import backend  # noqa: E402  after the check
from torchdyn import element  # noqa: E402
from torchdyn.calls import CompiledCall, compile_calls  # noqa: E402
from torchdyn.extend import register_decomposition, register_lowering  # noqa: E402
from torchdyn.explanation import Explanation, explain  # noqa: E402
from torchdyn.options import config  # noqa: E402

__version__ = _build.VERSION
__all__ = ["CompiledCall", "Explanation", "__version__", "backend", "compile_calls", "config",
           "element", "explain", "register_decomposition", "register_lowering", "reset"]


def reset() -> None:
    """Forgets all compiled code: what runs next is captured and compiled anew."""
    torch._dynamo.reset()
