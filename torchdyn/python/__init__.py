"""torchdyn: compiles what PyTorch programs compute with tensors.

    calls = torchdyn.compile_calls([(fn, (x, w))])
    y = calls[0](x, w)
"""
import torch  # noqa: F401  its libraries must be loaded before ours

from torchdyn.calls import CompiledCall, compile_calls

__all__ = ["CompiledCall", "compile_calls"]
