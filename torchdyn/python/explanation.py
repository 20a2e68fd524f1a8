"""What becomes of a function's calls.

    print(torchdyn.explain(model)(x))
"""
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch._dynamo.utils import counters

from torchdyn import _C
from torchdyn.graph_backend import CompiledGraph
from torchdyn.options import chosen_options


@dataclass(frozen=True)
class Explanation:
    """Of calls: the graphs that Dynamo made, what became of each, and where it broke."""

    graphs: tuple[Any, ...]       # torchdyn._C.Compiled, one an FX graph
    graph_breaks: dict[str, int]  # reason -> how often

    @property
    def eager_reasons(self) -> list[str]:
        """Why graphs ran in eager, each reason once; empty where all of them were compiled."""
        reasons = [variant["eager_reason"] for graph in self.graphs for variant in graph.variants]
        reasons += [reason for graph in self.graphs for reason in graph.refusals]
        return list(dict.fromkeys(reason for reason in reasons if reason))

    @property
    def rejected(self) -> list[str]:
        """Kernels that the compiler did not take, whose operators are calls instead, and its words."""
        graphs = [g for compiled in self.graphs for v in compiled.variants for g in v["graphs"]]
        return list(dict.fromkeys(line for graph in graphs for line in graph["rejected"]))

    def __str__(self) -> str:
        parts = [f"{len(self.graphs)} graphs, {sum(self.graph_breaks.values())} graph breaks"]
        parts += [f"graph {number}\n{graph}".rstrip() for number, graph in enumerate(self.graphs)]
        parts += [f"graph break: {reason}" for reason in self.graph_breaks]
        return "\n".join(parts) + "\n"


class Watched:
    """The backend, which keeps what it makes.

        watched = Watched()
        torch.compile(model, backend=watched)(x)
        watched.explanation().eager_reasons
    """

    def __init__(self, mode: str | None = None, options: Mapping[str, Any] | None = None):
        self._options = chosen_options(mode, options)
        self._breaks_before = Counter(counters["graph_break"])
        self.graphs: list[Any] = []

    def __call__(self, graph_module, example_inputs):
        graph = CompiledGraph(graph_module, self._options)
        self.graphs += graph.graphs
        return graph.function

    def explanation(self) -> Explanation:
        """Of all calls so far."""
        breaks = Counter(counters["graph_break"]) - self._breaks_before
        return Explanation(tuple(self.graphs), dict(breaks))


def explain(function: Callable, *, mode: str | None = None,
            options: Mapping[str, Any] | None = None) -> Callable[..., Explanation]:
    """A callable with the function's arguments: it compiles anew, calls once and tells what happened.

    `function` may be a module, and may be compiled already. Raises what the call raises; ValueError
    for an unknown mode or option.

        explanation = torchdyn.explain(torch.nn.Linear(8, 2))(torch.randn(4, 8))   # result (4, 2)
        assert not explanation.eager_reasons
    """
    chosen_options(mode, options)  # raises here, not at the call
    is_ours = hasattr(function, "capture")  # what torchdyn.compile gave
    for name in ("_orig_mod", "_torchdyn_function", "_torchdynamo_orig_callable"):
        function = getattr(function, name, function)

    def explained(*args: Any, **kwargs: Any) -> Explanation:
        watched = Watched(mode, options)
        if is_ours:
            capture = _C.FrameCapture(watched)
            capture.call(function, *args, **kwargs)
            breaks = Counter(f"{e['reason']} ({e['file']}:{e['line']}; {e['advice']})"
                             for e in capture.events if e["is_cut"])
            return Explanation(tuple(watched.graphs), dict(breaks))
        torch.compile(function, backend=watched)(*args, **kwargs)
        return watched.explanation()

    return explained
