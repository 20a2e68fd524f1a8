"""Callables compiled ahead of their first call, for the tensors of sample arguments.

    graph_module, samples = ..., (x, w)
    call, = compile_calls([(graph_module, samples)])
    call(x, w)                    # runs kernels; gradients flow
    call.eager_reason             # why nothing was compiled; empty where it was
"""
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.utils._pytree import tree_flatten, tree_unflatten

from torchdyn import _C, jiterator
from torchdyn.graph_trace import split_result


class CompiledCall:
    """A callable for arguments of the structure, types and sizes of its samples.

    Other tensors raise RuntimeError. What the samples hold besides tensors is baked in. Where
    `eager_reason` is not empty, a call runs the original callable, as it does for values for which
    that raises.
    """

    def __init__(self, function, result_of, compiled):
        self._function = function
        self._result_of = result_of
        self._compiled = compiled

    def __call__(self, *args: Any) -> Any:
        if self.eager_reason:
            return self._function(*args)
        tensors = [leaf for leaf in tree_flatten(args)[0] if isinstance(leaf, torch.Tensor)]
        results = self._compiled(tensors)
        return self._function(*args) if results is None else self._result_of(results)

    @property
    def eager_reason(self) -> str:
        """Why nothing was compiled; empty where it was."""
        return self._compiled.eager_reason

    @property
    def graphs(self) -> list[dict]:
        """One dict a graph: name, text, kernels, extern_calls, not_fused."""
        return self._compiled.graphs


class _Trace:
    """The callable over a flat list of tensors; remembers how its result is put together."""

    def __init__(self, function, args):
        self.function = function
        self.leaves, self.structure = tree_flatten(args)
        self.places = [i for i, leaf in enumerate(self.leaves) if isinstance(leaf, torch.Tensor)]
        self.rebuild = None

    @property
    def tensors(self):
        return [self.leaves[place] for place in self.places]

    def __call__(self, *fakes):
        leaves = list(self.leaves)
        for place, fake in zip(self.places, fakes):
            leaves[place] = fake
        with jiterator.recorded():
            result = self.function(*tree_unflatten(leaves, self.structure))
        tensors, _, self.rebuild = split_result(result)
        return tensors

    def result_of(self, tensors):
        return tensors if self.rebuild is None else self.rebuild(tensors)


def compile_calls(calls: Sequence[tuple[Callable, Sequence[Any]]], *,
                  numerics: str = "default") -> list[CompiledCall]:
    """Traces each (callable, arguments) and compiles all of them together.

    Arguments and results are tensors, constants and pytrees of them. A callable runs once, over
    tensors without data; one that cannot be traced or compiled has an `eager_reason`. Kernels of
    all of them are built in few translation units, so many small callables are compiled at the
    price of few. With numerics="eager", pointwise results have eager's bits.
    """
    traces = [_Trace(function, tuple(args)) for function, args in calls]
    compiled = _C.compile_calls([(trace, trace.tensors) for trace in traces],
                                {"numerics": numerics})
    return [CompiledCall(function, trace.result_of, one)
            for (function, _), trace, one in zip(calls, traces, compiled)]
