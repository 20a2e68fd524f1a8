"""Custom operators of torch.library that write to their arguments."""
import unittest

import torch
from like_eager import LikeEager
from torchdyn.explanation import Watched

NAMESPACE = "torchdyn_mutating"


@torch.library.custom_op(f"{NAMESPACE}::fill_with", mutates_args=("x",))
def fill_with(x: torch.Tensor, value: float) -> None:
    x.fill_(value)


@torch.library.custom_op(f"{NAMESPACE}::clamp_and_count", mutates_args=("x", "counts"))
def clamp_and_count(x: torch.Tensor, limit: torch.Tensor, counts: list[torch.Tensor]) -> torch.Tensor:
    above = x > limit
    for count in counts:
        count += above.sum()
    x[above] = limit
    return above


@clamp_and_count.register_fake
def _(x, limit, counts):
    return torch.empty_like(x, dtype=torch.bool)


_library = torch.library.Library(NAMESPACE, "DEF")  # kept: it unregisters when it goes
_library.define("twice_(Tensor(a!) x) -> Tensor(a!)")
_library.impl("twice_", lambda x: x.mul_(2), "CPU")
_library.impl("twice_", lambda x: x, "Meta")


class _FilledBackward(torch.autograd.Function):
    """Calls the operator in forward and in backward, as kernels' authors do."""

    @staticmethod
    def forward(ctx, x):
        out = torch.empty_like(x)
        fill_with(out, 3.0)
        return out * x

    @staticmethod
    def backward(ctx, grad):
        factor = torch.empty_like(grad)
        fill_with(factor, 3.0)
        return grad * factor


class MutatingOperators(LikeEager):
    def extern_calls(self, graphs):
        return [call for graph in graphs[0].variants[0]["graphs"] for call in graph["extern_calls"]]

    def test_one_that_writes_a_view_of_an_intermediate_is_an_extern_call(self):
        def f(x):
            y = x + 1
            fill_with(y[0], 4.0)
            return y * 2
        graphs = self.check(f, torch.randn(3, 2))
        self.assertIn(f"torchdyn_functional::{NAMESPACE}_fill_with", self.extern_calls(graphs))

    def test_one_that_writes_an_input_of_the_graph(self):
        def f(x):
            fill_with(x, 4.0)
            return x * 2
        self.check(f, torch.randn(3))

    def test_one_that_writes_a_view_of_an_input_of_the_graph(self):
        def f(x):
            y = x.t()[1:]
            fill_with(y, 4.0)
            return y, x.sum(0)
        self.check(f, torch.randn(3, 4))

    def test_one_with_lists_and_a_result(self):
        def f(x, limit, a, b):
            above = clamp_and_count(x, limit, [a, b])
            return above, x.exp(), a + b
        self.check(f, torch.randn(5), torch.tensor(0.5), torch.tensor(0), torch.tensor(7))

    def test_a_result_that_is_the_argument_stays_it(self):
        def f(x):
            y = torch.ops.torchdyn_mutating.twice_(x)
            y.add_(1)
            return y, x * 3
        self.check(f, torch.randn(3))

    def test_two_calls_one_after_another(self):
        def f(x):
            y = torch.zeros_like(x)
            fill_with(y, 2.0)
            first = y * x
            fill_with(y, 5.0)
            return first + y
        self.check(f, torch.randn(4))

    def test_in_the_forward_and_the_backward_of_a_function(self):
        graphs = self.check(_FilledBackward.apply, torch.randn(3, requires_grad=True))
        names = [graph["name"] for graph in graphs[0].variants[0]["graphs"]
                 if f"torchdyn_functional::{NAMESPACE}_fill_with" in graph["extern_calls"]]
        self.assertEqual(names, ["forward", "backward"])

    def test_beside_a_gradient_that_goes_another_way(self):
        def f(x, buffer):
            with torch.no_grad():
                fill_with(buffer, 2.0)
            return x * buffer
        self.check(f, torch.randn(3, requires_grad=True), torch.zeros(3))

    def test_one_that_writes_what_carries_a_gradient_runs_in_eager(self):
        def f(x):
            y = x * 2
            fill_with(y, 4.0)
            return x + y.detach()
        self.check(f, torch.randn(3, requires_grad=True), eager_reason="carries a gradient")

    def test_one_defined_anew_with_another_schema_is_seen(self):
        def set_to_one(x):
            x.fill_(1)

        def set_to(x, value):
            x.fill_(value)
        for schema, kernel, args in (("set_(Tensor(a!) x) -> ()", set_to_one, ()),
                                     ("set_(Tensor(a!) x, float value) -> ()", set_to, (2.0,))):
            library = torch.library.Library("torchdyn_again", "DEF")
            library.define(schema)
            library.impl("set_", kernel, "CPU")

            def f(x):
                y = x.clone()
                torch.ops.torchdyn_again.set_.default(y, *args)
                return y + x
            watched = Watched()
            x = torch.randn(3)
            compiled = watched(torch.fx.symbolic_trace(f), [])
            torch.testing.assert_close(compiled(x), f(x))
            self.check_reasons(watched, None)
            library._destroy()


if __name__ == "__main__":
    unittest.main()
