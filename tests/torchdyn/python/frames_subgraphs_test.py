"""Our own capture of frames: functions that torch is given, as graphs within the graph."""
import unittest

import torch
from torch.utils.checkpoint import checkpoint

from captured import CaptureTest, captured, reasons


class Clamped(torch.autograd.Function):
    """A lower bound whose gradient passes where it leads away from the bound."""

    @staticmethod
    def forward(ctx, x, bound):
        ctx.save_for_backward(x)
        ctx.bound = bound
        return torch.clamp(x, min=bound)

    @staticmethod
    def backward(ctx, grad):
        x, = ctx.saved_tensors
        return grad * ((x >= ctx.bound) | (grad < 0)), None


class Halves(torch.autograd.Function):
    """Two outputs, of which one has no gradient; with setup_context."""

    @staticmethod
    def forward(x, y):
        return x * y / 2, (x > y)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)
        ctx.mark_non_differentiable(output[1])

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, grad, _):
        x, y = ctx.saved_tensors
        return (grad * y if ctx.needs_input_grad[0] else None,
                grad * x if ctx.needs_input_grad[1] else None)


class Same(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x

    @staticmethod
    def backward(ctx, grad):
        return -grad


SCALE = 3.0
SEEN = []


class Scaled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        return grad * SCALE


class Counted(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        SEEN.append(1)
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        return grad


def inputs():
    torch.manual_seed(0)
    return [torch.randn(3, 4, requires_grad=True), torch.randn(3, 4, requires_grad=True)]


class SubgraphsTest(CaptureTest):
    def assert_step(self, function, graphs=1):
        """Value and gradients of two steps as in eager."""
        compiled, backend = captured(function)
        for _ in range(2):
            results = []
            for f in (function, compiled):
                args = inputs()
                value = f(*args)
                value.sum().backward()
                results.append((value.detach(), *(arg.grad for arg in args)))
            self.assert_equal_values(*results[::-1])
        self.assertEqual(len(backend.graphs), graphs, compiled.capture.events)
        return compiled, backend

    def test_a_function_with_a_backward_of_its_own(self):
        _, backend = self.assert_step(lambda x, y: (Clamped.apply(x, 0.25) * y).exp())
        self.assertIn("autograd_function_apply", map(str, backend.targets()))

    def test_one_with_setup_context_and_outputs_without_gradient(self):
        def f(x, y):
            half, mask = Halves.apply(x.exp(), y.detach())
            return half * mask + y
        self.assert_step(f)

    def test_one_that_gives_its_input(self):
        def f(x, y):
            same = Same.apply(x)
            return same * 2 + y if same is not x else y
        self.assert_step(f)

    def test_what_a_backward_reads_is_guarded(self):
        global SCALE
        try:
            _, backend = self.assert_step(lambda x, y: Scaled.apply(x) + y)
            compiled, backend = captured(lambda x: Scaled.apply(x).sum())
            for SCALE in (3.0, 5.0):
                x = torch.ones(2, requires_grad=True)
                compiled(x).backward()
                self.assertEqual(x.grad.tolist(), [SCALE] * 2)
        finally:
            SCALE = 3.0

    def test_without_gradients_it_is_its_forward(self):
        backend = self.assert_same(lambda x: Clamped.apply(x, 0.5) + 1, torch.randn(4))
        self.assertEqual(backend.targets(), ["clamp", "add"])
        with torch.no_grad():
            self.assert_same(lambda x: Clamped.apply(x, 0.5) + 1, torch.randn(4, requires_grad=True))

    def test_one_that_changes_what_others_see_is_a_break(self):
        compiled, _ = captured(lambda x: Counted.apply(x) + 1)
        del SEEN[:]
        compiled(torch.ones(2, requires_grad=True)).sum().backward()
        self.assertEqual(len(SEEN), 1)

    def test_checkpoint(self):
        linear = torch.nn.Linear(4, 4)

        def f(x, y):
            return checkpoint(lambda a, b: linear(a.sin()) * b, x, y, use_reentrant=False) + 1
        _, backend = self.assert_step(f)
        self.assertIn("tag_activation_checkpoint", map(str, backend.targets()))

    def test_checkpoint_of_a_module_that_gives_a_tuple(self):
        class Block(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.linear = torch.nn.Linear(4, 4)

            def forward(self, x, scale=1.0):
                return self.linear(x) * scale, x

        block = Block()

        def f(x, y):
            a, b = checkpoint(block, x, use_reentrant=True, scale=2.0) if False else checkpoint(
                block, x, 2.0, use_reentrant=True)
            return a * b + y
        self.assert_step(f)

    def test_cond(self):
        def f(x, y):
            return torch.cond(x.sum() > 0, lambda a, b: a.sin() * b, lambda a, b: a - b, (x, y))
        compiled, backend = captured(f)
        for sign in (1, -1):
            args = [sign * torch.rand(3), torch.rand(3)]
            expected = args[0].sin() * args[1] if sign > 0 else args[0] - args[1]
            self.assert_equal_values(compiled(*args), expected)
        self.assertEqual(len(backend.graphs), 1)
        self.assertIn("cond", map(str, backend.targets()))

    def test_a_tensor_that_only_lives_inside_does_not_leave(self):
        kept = []

        def f(x):
            def body(a):
                b = a.sin()
                kept.append(b)
                return b * 2
            return checkpoint(body, x, use_reentrant=False) + 1
        x = torch.ones(2, requires_grad=True)
        compiled, _ = captured(f)
        self.assert_equal_values(compiled(x), x.sin() * 2 + 1)
        self.assertEqual(len(kept), 1)
        self.assertTrue(reasons(compiled, "f")[0])


if __name__ == "__main__":
    unittest.main()
