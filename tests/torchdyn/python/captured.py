"""A backend that keeps the graphs of captured frames, and what their tests compare.

    compiled, backend = captured(function)
    compiled(x)
    backend.targets(), reasons(compiled, "function")
"""
import traceback
import unittest

import torch
from torch.utils._pytree import tree_flatten

from torchdyn import frames


class Recorded:
    """A backend that runs graphs as they are and keeps them."""

    def __init__(self):
        self.graphs = []

    def __call__(self, graph_module, example_inputs):
        self.graphs.append(graph_module)
        return graph_module

    def targets(self, index=-1):
        return [getattr(n.target, "__name__", n.target) for n in self.graphs[index].graph.nodes
                if n.op.startswith("call_")]


def captured(function, **options):
    backend = Recorded()
    return frames.compile(function, backend, **options), backend


def reasons(compiled, name):
    return [e["reason"] for e in compiled.capture.events if e["function"].split(".")[-1] == name]


def description(error):
    """An exception as users see it: with functions and lines, and those that it names as its cause and context."""
    if error is None:
        return None
    lines = [(frame.name, frame.lineno) for frame in traceback.extract_tb(error.__traceback__)
             if not frame.filename.endswith("torchdyn/frames.py")]
    return (type(error), error.args, lines, error.__suppress_context__,
            description(error.__cause__), description(error.__context__))


class CaptureTest(unittest.TestCase):
    def assert_raises_alike(self, function, *args):
        """What eager raises, in each of two calls; the compiled function and its backend."""
        compiled, backend = captured(function)
        raised = []
        for called in (function, compiled, compiled):
            try:
                called(*args)
            except Exception as error:
                raised.append(description(error))
        self.assertEqual(len(raised), 3, "nothing is raised")
        for actual in raised[1:]:
            self.assertEqual(actual, raised[0])
        return compiled, backend

    def assert_equal_values(self, actual, expected):
        """Trees of tensors and whatever has an equality."""
        (mine, kind), (theirs, expected_kind) = tree_flatten(actual), tree_flatten(expected)
        self.assertEqual(kind, expected_kind)
        for a, e in zip(mine, theirs):
            if isinstance(e, torch.Tensor):
                torch.testing.assert_close(a, e, rtol=0, atol=0)
            else:
                self.assertEqual((type(a), a), (type(e), e))

    def assert_same(self, function, *args, graphs=1, **kwargs):
        compiled, backend = captured(function)
        for _ in range(2):  # captured, then found again
            expected, actual = function(*args, **kwargs), compiled(*args, **kwargs)
            self.assert_equal_values(actual, expected)
        self.assertEqual(len(backend.graphs), graphs, compiled.capture.events)
        return backend

    def assert_gradients(self, f):
        """Of a number made of a 3 x 4 and a 4 x 5 matrix, as in eager."""
        grads = []
        for function in (f, captured(f)[0]):
            torch.manual_seed(0)
            x, w = torch.randn(3, 4, requires_grad=True), torch.randn(4, 5, requires_grad=True)
            function(x, w).backward()
            grads.append((x.grad, w.grad))
        torch.testing.assert_close(*grads, rtol=0, atol=0)

    def assert_whole(self, function, *args):
        """As in eager, with all of it in one graph."""
        compiled, backend = captured(function)
        for _ in range(2):
            self.assert_equal_values(compiled(*args), function(*args))
        broken = [e for e in compiled.capture.events if e["reason"]]
        self.assertFalse(broken, [(e["function"], e["line"], e["reason"]) for e in broken])
        self.assertEqual(len(backend.graphs), 1)
