"""Our own capture: functions whose frames become graphs as they begin.

    captured = frames.compile(function, backend=print_graph)
    captured(x)
    captured.capture.events             # what became of each frame, and why
"""
import functools
from collections.abc import Callable

from torchdyn import _C
from torchdyn.graph_backend import backend as torchdyn_backend


def compile(function: Callable, backend: Callable = torchdyn_backend) -> Callable:
    """`function`, whose frames and whose callees' frames run as compiled graphs where they can be
    captured whole, and as they are where they cannot.

    `backend(graph_module, example_inputs)` gives a callable with the graph's inputs and results.
    """
    capture = _C.FrameCapture(backend)

    @functools.wraps(function)
    def captured(*args, **kwargs):
        return capture.call(function, *args, **kwargs)

    captured.capture = capture
    return captured
