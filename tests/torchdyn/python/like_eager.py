"""Runs a function through torch.compile(backend="torchdyn") and in eager, and compares all there is.

    class Views(LikeEager):
        def test_a_view_of_an_input(self):
            self.check(lambda x: x.view(-1), torch.randn(2, 3))
"""
import copy
import unittest

import torch
from torch.utils._pytree import tree_flatten
from torchdyn.explanation import Watched


def fresh(args):
    """Copies of tensors and modules; one that is given twice is one copy; views stay views of one."""
    return copy.deepcopy(args)


def tensors_of(value):
    return [t for t in tree_flatten(value)[0] if isinstance(t, torch.Tensor)]


def modules_of(value):
    return [m for m in tree_flatten(value)[0] if isinstance(m, torch.nn.Module)]


def parameters_of(args):
    own = [t for t in tensors_of(args) if t.requires_grad and t.is_leaf]
    return own + [p for m in modules_of(args) for p in m.parameters()]


class LikeEager(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(0)

    def check(self, function, *args, eager_reason=None, options=None):
        """Values, gradients, what calls leave in their arguments, and aliases are eager's.

        `eager_reason`: a part of the reason for which it runs in eager; None: no graph may.
        Returns the graphs, _C.Compiled.
        """
        eager_args, our_args = fresh(args), fresh(args)
        torch.manual_seed(7)
        expected = function(*eager_args)
        watched = Watched(options=options)
        torch.manual_seed(7)
        actual = torch.compile(function, backend=watched)(*our_args)
        self.assert_same(actual, expected)
        self.assert_gradients(actual, our_args, expected, eager_args)
        self.assert_same_state(our_args, eager_args)
        self.assertEqual(self.aliases(actual, our_args), self.aliases(expected, eager_args))
        self.check_reasons(watched, eager_reason)
        return watched.graphs

    def check_reasons(self, watched, eager_reason):
        self.assertEqual(watched.explanation().rejected, [])
        reasons = watched.explanation().eager_reasons
        if eager_reason is None:
            self.assertTrue(watched.graphs, "nothing was compiled")
            self.assertEqual(reasons, [])
        else:
            self.assertTrue(any(eager_reason in reason for reason in reasons), reasons)

    def assert_same(self, actual, expected):
        torch.testing.assert_close(actual, expected)
        for a, e in zip(tensors_of(actual), tensors_of(expected)):
            self.assertEqual(a.stride(), e.stride())
            self.assertEqual(a.requires_grad, e.requires_grad)
            self.assertEqual(a.is_inference(), e.is_inference())

    def assert_gradients(self, actual, our_args, expected, eager_args):
        for results, args in ((actual, our_args), (expected, eager_args)):
            total = sum((t.float() * torch.linspace(0.5, 1.5, t.numel()).view(t.shape)).sum()
                        for t in tensors_of(results) if t.requires_grad)
            if isinstance(total, torch.Tensor):
                total.backward()
        for a, e in zip(parameters_of(our_args), parameters_of(eager_args)):
            torch.testing.assert_close(a.grad, e.grad)

    def assert_same_state(self, our_args, eager_args):
        """What in-place operators have done to arguments, and to modules' buffers."""
        torch.testing.assert_close(tensors_of(our_args), tensors_of(eager_args))
        for a, e in zip(modules_of(our_args), modules_of(eager_args)):
            torch.testing.assert_close(dict(a.named_buffers()), dict(e.named_buffers()))

    def aliases(self, results, args):
        """Which results are arguments or share memory, with one another and with arguments."""
        everything = tensors_of(results) + tensors_of(args)
        storages = [t.untyped_storage().data_ptr() for t in everything]
        same = [next(i for i, u in enumerate(everything) if u is t) for t in everything]
        views = [t._is_view() and storages.count(s) > 1 for t, s in zip(everything, storages)]
        return same, [storages.index(s) for s in storages], views
