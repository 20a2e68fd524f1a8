"""One module of the corpus: in eager, and through the captures that are compared.

    record = attempt(case, doors(with_compiler=False))
    record["eager"] == ""; record["ours"]["graphs"], record["ours"]["breaks"], record["ours"]["problem"]
"""
import copy
import time
from collections.abc import Callable
from typing import Any

import torch
import torch._dynamo
from torch.utils._pytree import tree_leaves

import torchdyn


class Counting:
    """A backend that runs graphs as they are, and counts them and their calls."""

    def __init__(self):
        self.graphs = self.calls = 0

    def __call__(self, graph_module, example_inputs):
        calls = sum(node.op.startswith("call_") for node in graph_module.graph.nodes)
        self.graphs += calls > 0
        self.calls += calls
        return graph_module.forward


def dynamo(module, record):
    torch._dynamo.reset()
    torch._dynamo.utils.counters.clear()
    counting = Counting()
    return torch.compile(module, backend=counting), lambda: record.update(
        graphs=counting.graphs, calls=counting.calls, breaks=dynamos_breaks())


def dynamos_breaks():
    """Their reasons. A branch on a value has none there: it shows by the frame that goes on behind it."""
    counters = torch._dynamo.utils.counters
    reasons = list(counters["graph_break"])[:4]
    return reasons or ["another frame"] * (counters["frames"]["total"] > 1)


def ours(module, record):
    counting = Counting()
    compiled = torchdyn.compile(module, backend=counting)
    return compiled, lambda: record.update(
        graphs=counting.graphs, calls=counting.calls,
        breaks=[f"{event['reason']} ({event['function']}:{event['line']})"
                for event in compiled.capture.events if event["reason"]][:4])


def compiler(module, record):
    return torchdyn.compile(module), lambda: None


def doors(with_compiler: bool) -> dict[str, Callable]:
    return {"dynamo": dynamo, "ours": ours} | ({"compiled": compiler} if with_compiler else {})


def outcome(case, wrap=None) -> tuple[list[Any], float]:
    """Leaves of the result, gradients and buffers of a forward and backward, and seconds."""
    module, (args, kwargs) = case.module(), case.inputs()
    call = wrap(module) if wrap else module
    started = time.perf_counter()
    result = call(*args, **kwargs)
    leaves = tree_leaves(result)
    ends = [leaf for leaf in leaves if isinstance(leaf, torch.Tensor) and leaf.requires_grad
            and leaf.is_floating_point()]
    if ends:
        sum(end.float().sum() for end in ends).backward()
    seconds = time.perf_counter() - started
    leaves += [parameter.grad for parameter in module.parameters()]
    return [copy.copy(leaf) for leaf in leaves + list(module.buffers())], seconds


def differs(got: list[Any], want: list[Any], tolerance: float) -> str:
    if len(got) != len(want):
        return f"{len(got)} results, not {len(want)}"
    for number, (a, b) in enumerate(zip(got, want)):
        if not isinstance(b, torch.Tensor) or not isinstance(a, torch.Tensor):
            if isinstance(a, torch.Tensor) != isinstance(b, torch.Tensor):
                return f"result {number} is a {type(a).__name__}"
        elif layout(a) != layout(b):
            return f"result {number} is {layout(a)}, not {layout(b)}"
        elif b.numel() and not is_near(a, b, tolerance):
            return f"values of result {number}"
    return ""


def layout(tensor):
    """What can be told apart: a dimension of one element has any stride."""
    strides = [step if size > 1 else 0 for size, step in zip(tensor.shape, tensor.stride())]
    return tensor.dtype, tuple(tensor.shape), tuple(strides) if tensor.numel() else ()


def is_near(a, b, tolerance):
    kind = torch.complex128 if b.is_complex() else torch.float64
    a, b = a.to(kind), b.to(kind)
    finite = b.abs()[b.isfinite()]
    allowed = tolerance * max(1.0, float(finite.max()) if finite.numel() else 0.0)
    return torch.allclose(a, b, tolerance, allowed, equal_nan=True)


def attempt(case, chosen: dict[str, Callable], begin: Callable[[str], None]) -> dict[str, Any]:
    """"eager": why it is not compared, "" where it is; a door: graphs, calls, breaks, problem, seconds.

    `begin` is told what comes next: "eager", or a door.
    """
    begin("eager")
    try:
        want, _ = outcome(case)
        again, _ = outcome(case)
        unstable = differs(again, want, 0)
    except Exception as error:
        return {"eager": f"{type(error).__name__}: {str(error)[:80]}"}
    if unstable:
        return {"eager": "two runs in eager differ"}
    record: dict[str, Any] = {"eager": ""}
    for name, door in chosen.items():
        begin(name)
        row = record[name] = {"problem": ""}
        finish = lambda: None  # noqa: E731

        def wrap(module):
            nonlocal finish
            compiled, finish = door(module, row)
            return compiled
        try:
            got, row["seconds"] = outcome(case, wrap)
            row["problem"] = differs(got, want, 1e-5 if name != "compiled" else 1e-3)
        except Exception as error:
            row["problem"] = f"raises {type(error).__name__}: {str(error)[:160]}"
        finish()
    return record
