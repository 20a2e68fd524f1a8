"""Which sizes of an FX graph's inputs Dynamo left open, in the terms of the engine.

    sizes = dynamic_sizes(graph_module, attributes=0)      # None where all sizes are fixed

Dynamo gives an input's sizes as expressions of its symbols, with a range and guards for each. The
engine traces a graph at several sizes; the rows of samples are such as Dynamo's guards allow.
"""
import random

import sympy
import torch
from torch import fx
from torch.fx.experimental.symbolic_shapes import free_symbols
from torch.utils._sympy.functions import FloorDiv, Max, Min, Mod, PythonMod

from torchdyn import _C

_SAMPLES = 20
_TRIES = 400
_GUESS = 16  # of a size that depends on values


class Unsupported(Exception):
    """A size that the engine has no expression for."""


_CALLS = {FloorDiv: "floor_div", Mod: "mod", PythonMod: "mod", Max: "max", Min: "min"}


def text_of(expr: sympy.Expr, names: dict[sympy.Symbol, str]) -> str:
    def text(e):
        return text_of(e, names)

    if isinstance(expr, sympy.Integer):
        return f"({int(expr)})"
    if isinstance(expr, sympy.Symbol):
        return names[expr]
    if isinstance(expr, sympy.Add):
        return "(" + " + ".join(map(text, expr.args)) + ")"
    if isinstance(expr, sympy.Mul):
        return "*".join(map(text, expr.args))
    if isinstance(expr, sympy.Pow) and expr.exp.is_Integer and expr.exp > 0:
        return "*".join([text(expr.base)] * int(expr.exp))
    for kind, name in _CALLS.items():
        if isinstance(expr, kind) and len(expr.args) == 2:
            return f"{name}({', '.join(map(text, expr.args))})"
    raise Unsupported(f"{type(expr).__name__} in a size")


def _expr(size: int | torch.SymInt) -> sympy.Expr:
    return size.node.expr if isinstance(size, torch.SymInt) else sympy.Integer(size)


class _Symbols:
    """Dynamo's symbols of one graph: their values in the first call, their guards, their samples.

    `names` has the expression of each: a symbol of the engine, or its value where guards allow no
    other one. Sizes that depend on values have none in the first call.
    """

    def __init__(self, sizes: list[torch.SymInt], fixed: set[int]):
        self._fixed = fixed  # a sample that is one of them might be taken for it
        exprs = [size.node.expr for size in sizes]
        symbols = sorted(set().union(*(e.free_symbols for e in exprs)), key=str)
        self._env = sizes[0].node.shape_env
        self._hints = {e: int(size.node.hint) if size.node.has_hint() else None
                       for e, size in zip(exprs, sizes) if e in symbols}
        if len(self._hints) < len(symbols):
            raise Unsupported("a size is an expression of symbols that are no sizes themselves")
        asserts = [a for those in self._env.deferred_runtime_asserts.values() for a in those]
        self._guards = [guard.expr for guard in [*self._env.guards, *asserts]
                        if guard.expr.free_symbols <= self._hints.keys()]
        self._values = {symbol: self._alternatives(symbol) for symbol in symbols}
        if any(self._hints[symbol] is None and not self._values[symbol] for symbol in symbols):
            raise Unsupported("a size that depends on values has no known values")
        self._open = [symbol for symbol in symbols if self._values[symbol]]
        self.names = {symbol: f"s{self._open.index(symbol)}" if self._values[symbol]
                      else str(self._hints[symbol]) for symbol in symbols}

    def samples(self) -> list[list[int]]:
        """Rows of values of the open symbols, in the order of their names."""
        rng = random.Random(0)
        rows = []
        for _ in range(_TRIES if self._open else 0):
            row = {symbol: rng.choice(self._values[symbol]) for symbol in self._open}
            distinct = len(set(row.values())) == len(row)
            new = all(row[s] != other[s] for other in rows for s in self._open)
            if distinct and new and self._are_allowed(row):
                rows.append(row)
            if len(rows) == _SAMPLES:
                break
        return [[row[symbol] for symbol in self._open] for row in rows]

    def _alternatives(self, symbol) -> list[int]:
        """Values that guards allow while the others stay."""
        bounds, hint = self._env.var_to_range[symbol], self._hints[symbol] or _GUESS
        # Not so small that a size made of it becomes 1, whose strides mean nothing.
        low = 2 if self._hints[symbol] is None else max(2, hint // 2 + 1)
        if isinstance(bounds.lower, sympy.Integer):
            low = max(low, int(bounds.lower))
        high = max(2 * hint, low) + 64
        if isinstance(bounds.upper, sympy.Integer):
            high = min(high, int(bounds.upper))
        values = [value for value in range(low, high + 1)
                  if value != self._hints[symbol] and value not in self._fixed]
        random.Random(hint).shuffle(values)
        allowed = []
        for value in values[:_TRIES]:
            if self._are_allowed({symbol: value}):
                allowed.append(value)
            if len(allowed) >= 2 * _SAMPLES:
                break
        return allowed

    def _are_allowed(self, row) -> bool:
        values = {s: sympy.Integer(v) for s, v in {**self._hints, **row}.items() if v is not None}
        return not any(guard.xreplace(values) == sympy.false for guard in self._guards)


def dynamic_sizes(module: fx.GraphModule, attributes: int) -> _C.DynamicSizes | None:
    """The graph's open sizes; its tensor attributes, further inputs, have fixed ones."""
    values = [node.meta.get("example_value", node.meta.get("val"))
              for node in module.graph.nodes if node.op == "placeholder"]
    numbers = {i: value for i, value in enumerate(values) if isinstance(value, torch.SymInt)}
    tensors = [value for value in values if isinstance(value, torch.Tensor)]
    open_sizes = [size for value in [*numbers.values(), *tensors] if free_symbols(value)
                  for size in _sizes(value) if isinstance(size, torch.SymInt)]
    if not open_sizes:
        return None
    try:
        symbols = _Symbols(open_sizes, {size for tensor in tensors for size in tensor.size()
                                        if type(size) is int})
        return _C.DynamicSizes(
            [_geometry(tensor, symbols.names) for tensor in tensors] + [None] * attributes,
            {i: text_of(_expr(number), symbols.names) for i, number in numbers.items()},
            symbols.samples())
    except Unsupported:
        return None


def _sizes(value) -> list:
    return [*value.size(), *value.stride()] if isinstance(value, torch.Tensor) else [value]


def _geometry(tensor, names) -> tuple[list[str], list[str]] | None:
    if not free_symbols(tensor):
        return None
    return tuple([text_of(_expr(size), names) for size in sizes]
                 for sizes in (tensor.size(), tensor.stride()))
