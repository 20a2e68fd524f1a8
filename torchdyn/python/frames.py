"""Our own capture: functions whose frames become graphs as they begin.

    captured = frames.compile(function, backend=print_graph)
    captured(x)
    captured.capture.events             # what became of each frame, and why
"""
import functools
from collections.abc import Callable

from torchdyn import _C
from torchdyn.graph_backend import backend as torchdyn_backend


def compile(function: Callable, backend: Callable = torchdyn_backend, open_sizes: str = "automatic") -> Callable:
    """`function`, whose frames and whose callees' frames run as compiled graphs where they can be
    captured whole, and as they are where they cannot.

    `backend(graph_module, example_inputs)` gives a callable with the graph's inputs and results. `open_sizes`
    says which sizes and ints are left open: "automatic" those that are others in another capture, "all", "marked"
    those of torch._dynamo.mark_dynamic, "none". Placeholders' meta["example_value"] has torch's symbols for them.
    """
    capture = _C.FrameCapture(backend, open_sizes=open_sizes)

    @functools.wraps(function)
    def captured(*args, **kwargs):
        return capture.call(function, *args, **kwargs)

    captured.capture = capture
    return captured
