"""The backend behind torch.compile.

    torch.compile(model, backend="torchdyn")
    torch.compile(model, backend="torchdyn", options={"recompile_limit": 16})
"""
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import fx

from torchdyn import _C
from torchdyn.dynamic_sizes import dynamic_sizes
from torchdyn.graph_trace import GraphTrace
from torchdyn.options import chosen_options
from torchdyn.segments import in_segments


class CompiledGraph:
    """What `compile_graph` makes of an FX graph: callable with the graph's inputs."""

    def __init__(self, module: fx.GraphModule, options: Mapping[str, str]):
        self.graphs = []  # _C.Compiled; several where sizes depend on values
        self._options = options
        self.function = in_segments(module, self._compile) or self._compile(module)

    def _compile(self, module: fx.GraphModule) -> Callable:
        """The quickest callable of a graph."""
        trace = GraphTrace(module)
        attributes = trace.attributes()
        compiled = _C.Compiled(trace, trace.eager, self._options, trace.parameters,
                               dynamic_sizes(module, attributes=len(attributes)))
        self.graphs.append(compiled)
        function = compiled
        if attributes:  # as its grad mode is
            def function(*args):
                attributes = trace.attributes()
                with torch.set_grad_enabled(trace.turns_grad_on or torch.is_grad_enabled()):
                    return compiled(*args, *attributes)
        if trace.inference_mode == "everywhere":  # its results are inference tensors
            function = torch.inference_mode()(function)
        return function


def backend(graph_module: fx.GraphModule, example_inputs: Sequence[Any], *,
            mode: str | None = None, options: Mapping[str, Any] | None = None) -> Callable:
    """Makes of an FX graph a callable with the graph's inputs and result, equal to eager's.

    The graph is captured at the first call, for the tensors, grad mode and autocast state of that
    call, and again where they change; `example_inputs` are not looked at. Sizes that Dynamo left
    open may change without another capture. Tensors may have any shape that the graph takes. What
    cannot be captured runs in eager; `torchdyn.explain` tells why.

    With options={"freezing": True}, calls that train nothing take parameters and buffers as constants:
    what depends on them alone is computed once, and BatchNorm goes into the convolution or linear
    layer before it, which rounds otherwise than eager; channels-last float32 convolutions on a CPU
    run with weights in oneDNN's order. A parameter that is changed in place, or
    replaced, is seen and compiled anew, up to `recompile_limit`; a change through `.data` is not.

    Raises ValueError for an unknown mode or option; the message lists the known ones.

        gm = torch.fx.symbolic_trace(lambda x, w: torch.relu(x @ w))
        compiled = torchdyn.backend(gm, [])
        y = compiled(torch.randn(4, 8), torch.randn(8, 2))      # (4, 2)
    """
    return CompiledGraph(graph_module, chosen_options(mode, options)).function
