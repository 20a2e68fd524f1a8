"""Graphs whose sizes depend on values: compiled pieces, and between them what reads the values.

    run = in_segments(graph_module, compile_graph)      # None where nothing is read

`nonzero`, `item` and their like, where Dynamo captures them, give sizes that only a run knows. Each
runs by itself; the next piece gets the size as an input, like any size that Dynamo left open.
"""
from collections.abc import Callable

import torch
from torch import fx
from torch.fx.experimental.symbolic_shapes import free_symbols
from torch.fx.passes.split_module import split_module
from torch.utils._pytree import tree_leaves

_CHECKS = (torch._check, torch._check_is_size, torch.ops.aten._assert_scalar.default,
           torch.ops.aten.sym_constrain_range.default,
           torch.ops.aten.sym_constrain_range_for_size.default)


# What changes the mode of all that follows: a piece must not end within.
_MODES = (torch._C._set_grad_enabled, torch.amp.autocast_mode._enter_autocast,
          torch.amp.autocast_mode._exit_autocast, torch.autograd.grad_mode._enter_inference_mode,
          torch.autograd.grad_mode._exit_inference_mode)


class _Piece(torch.nn.Module):
    def __init__(self, function: Callable):
        super().__init__()
        self.forward = function


def _symbols(node: fx.Node) -> set:
    """Of its sizes and ints; a float that is read is guarded by value."""
    values = tree_leaves(node.meta.get("example_value"))
    return set().union(*(free_symbols(v) for v in values
                         if isinstance(v, (torch.Tensor, torch.SymInt))))


def _has_tensor(node: fx.Node) -> bool:
    return any(isinstance(v, torch.Tensor) for v in tree_leaves(node.meta.get("example_value")))


def _pieces(module: fx.GraphModule) -> dict[fx.Node, int]:
    """The piece of each node: even ones are compiled, odd ones read values and check them."""
    known, piece, pieces = set(), 0, {}
    for node in module.graph.nodes:
        if node.op in ("placeholder", "get_attr", "output"):
            known |= _symbols(node)
            continue
        symbols = _symbols(node)
        reads = not symbols <= known
        known |= symbols
        in_reading = piece % 2 == 1
        if reads or node.target in _CHECKS:
            piece += not in_reading
        elif in_reading and _has_tensor(node):
            piece += 1
        pieces[node] = piece
    return pieces


def in_segments(module: fx.GraphModule, compile_graph: Callable[[fx.GraphModule], Callable]):
    """The graph as a callable of such pieces; None where it is one piece, or changes modes."""
    pieces = _pieces(module)
    reads = any(piece % 2 for piece in pieces.values())
    if not reads or any(node.target in _MODES for node in module.graph.nodes):
        return None
    split = split_module(module, module, pieces.__getitem__)
    for name, child in list(split.named_children()):
        if name.startswith("submod_") and int(name.removeprefix("submod_")) % 2 == 0:
            setattr(split, name, _Piece(compile_graph(child)))
    return split
