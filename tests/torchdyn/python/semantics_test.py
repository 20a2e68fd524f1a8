"""torch.compile(backend="torchdyn"): what a function does to tensors is what eager does."""
import unittest
from typing import NamedTuple

import torch
import torchdyn
from like_eager import LikeEager
from torch import nn
from torch.utils.checkpoint import checkpoint
from torchdyn.explanation import Watched


class Pair(NamedTuple):
    first: torch.Tensor
    second: torch.Tensor


class Results(LikeEager):
    def test_a_module_trains(self):
        model = nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.LayerNorm(16), nn.Linear(16, 4))
        self.check(lambda m, x: m(x), model, torch.randn(3, 8))

    def test_results_nest(self):
        self.check(lambda x: {"a": (x + 1, [x * 2]), "n": 3, "none": None}, torch.randn(4))

    def test_a_graph_may_give_a_named_tuple(self):
        graph = torch.fx.symbolic_trace(lambda x: Pair(x + 1, x * 2))
        x = torch.randn(4)
        given = torchdyn.backend(graph, [])(x)
        self.assertIs(type(given), Pair)
        torch.testing.assert_close(given, Pair(x + 1, x * 2))

    def test_a_result_that_is_an_argument_is_that_tensor(self):
        self.check(lambda x, y: (x, x + y), torch.randn(4), torch.randn(4))

    def test_a_result_that_views_an_argument_views_it(self):
        self.check(lambda x: (x.view(-1), x.t(), x[1:]), torch.randn(2, 3))

    def test_results_that_share_memory_share_it(self):
        def f(x):
            y = x * 2
            return y, y[0]
        self.check(f, torch.randn(2, 3, requires_grad=True))

    def test_a_result_given_twice_is_one_tensor(self):
        def f(x):
            y = x.exp()
            return y, y
        self.check(f, torch.randn(3))


class Inputs(LikeEager):
    def test_an_argument_changed_in_place(self):
        def f(x, y):
            x.add_(y)
            return x * 2
        self.check(f, torch.randn(4), torch.randn(4))

    def test_a_view_of_an_argument_changed_in_place(self):
        def f(x):
            x[0].mul_(3)
            return x.sum()
        self.check(f, torch.randn(3, 3))

    def test_an_argument_changed_in_place_that_overlaps_another_runs_in_eager(self):
        def f(x, y):
            x.add_(1)
            return x + y
        base = torch.randn(6)
        self.check(f, base[:4], base[2:], eager_reason="shares memory")

    def test_one_tensor_as_two_arguments(self):
        def f(x, y):
            x.mul_(2)
            return x + y
        x = torch.randn(4)
        self.check(f, x, x)

    def test_buffers_of_batch_norm_are_updated(self):
        model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU())
        self.check(lambda m, x: m(x), model, torch.randn(2, 3, 8, 8))

    def test_tied_parameters(self):
        class Tied(nn.Module):
            def __init__(self):
                super().__init__()
                self.embed = nn.Embedding(10, 4)
                self.head = nn.Linear(4, 10, bias=False)
                self.head.weight = self.embed.weight

            def forward(self, x):
                return self.head(self.embed(x))
        self.check(lambda m, x: m(x), Tied(), torch.randint(10, (3, 5)))

    def test_tensors_made_in_the_function(self):
        self.check(lambda x: x + torch.tensor([1.0, 2.0, 3.0]) + torch.arange(3), torch.randn(3))

    def test_attributes_of_the_graph_are_inputs(self):
        module = nn.Linear(3, 2)
        gm = torch.fx.symbolic_trace(module)
        watched = Watched()
        compiled = watched(gm, [])
        x = torch.randn(4, 3)
        torch.testing.assert_close(compiled(x), module(x))
        gm.weight.data.mul_(2)
        torch.testing.assert_close(compiled(x), module(x))
        gm.weight = nn.Parameter(torch.randn(2, 3))
        torch.testing.assert_close(compiled(x), gm(x))
        self.check_reasons(watched, None)

    def test_a_graph_with_nested_results(self):
        gm = torch.fx.symbolic_trace(lambda x: {"y": x + 1, "z": [x * 2, None]})
        x = torch.randn(3)
        torch.testing.assert_close(Watched()(gm, [])(x), gm(x))

    def test_a_subclass_runs_in_eager_with_the_reason(self):
        class Mine(torch.Tensor):
            pass
        gm = torch.fx.symbolic_trace(lambda x: x + 1)
        watched = Watched()
        x = torch.randn(3).as_subclass(Mine)
        y = watched(gm, [])(x)
        self.assertIs(type(y), Mine)
        torch.testing.assert_close(y, x + 1)
        self.check_reasons(watched, "tensor subclass (Mine)")


class Modes(LikeEager):
    def setUp(self):
        super().setUp()
        self.model = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 2))
        self.x = torch.randn(4, 8)

    def test_autocast_around_the_call(self):
        with torch.autocast("cpu", torch.bfloat16):
            self.check(lambda m, x: m(x), self.model, self.x)

    def test_autocast_in_the_function(self):
        def f(m, x):
            with torch.autocast("cpu", torch.bfloat16):
                y = m(x)
            return y.float().softmax(-1)
        self.check(f, self.model, self.x)

    def test_autocast_ends_where_an_operator_raises(self):
        def f(x, i):
            with torch.autocast("cpu", torch.bfloat16):
                return (x @ x).index_select(0, i)
        compiled = torch.compile(f, backend="torchdyn")
        x = torch.eye(4)
        torch.testing.assert_close(compiled(x, torch.tensor([1])), f(x, torch.tensor([1])))
        for _ in range(2):
            with self.assertRaises(IndexError):
                compiled(x, torch.tensor([50]))
            self.assertFalse(torch.is_autocast_enabled("cpu"))

    def test_autocast_ends_where_capture_raises(self):
        graph = torch.fx.Graph()
        x, y = graph.placeholder("x"), graph.placeholder("y")
        region = graph.call_function(torch.amp._enter_autocast, ("cpu", torch.bfloat16, True, None))
        product = graph.call_function(torch.matmul, (x, y))
        graph.call_function(torch.amp._exit_autocast, (region,))
        graph.output((product,))
        compiled = torchdyn.backend(torch.fx.GraphModule({}, graph), [])
        with self.assertRaises(RuntimeError):
            compiled(torch.eye(4), torch.ones(3, 4))
        self.assertFalse(torch.is_autocast_enabled("cpu"))

    def test_no_grad_around_the_call(self):
        with torch.no_grad():
            self.check(lambda m, x: m(x), self.model, self.x)

    def test_no_grad_in_the_function(self):
        def f(m, x):
            with torch.no_grad():
                y = m(x)
            return m(x) + y
        self.check(f, self.model, self.x)

    def test_gradients_turned_on_in_the_function(self):
        def f(m, x):
            with torch.enable_grad():
                y = m(x)
            return y, x * 2
        x = self.x.clone().requires_grad_()
        self.check(f, self.model, x)
        self.check(torch.no_grad()(f), self.model, x)
        watched = Watched()
        compiled = torch.compile(f, backend=watched)
        for _ in range(2):
            with torch.no_grad():
                y, doubled = compiled(self.model, x)
            self.assertEqual((y.requires_grad, doubled.requires_grad), (True, False))
        self.check_reasons(watched, None)

    def test_inference_mode_around_the_call(self):
        with torch.inference_mode():
            self.check(lambda m, x: m(x), self.model, self.x)

    def test_inference_mode_in_the_function(self):
        def f(m, x):
            with torch.inference_mode():
                return m(x)
        self.check(f, self.model, self.x)

    def test_inference_mode_for_a_part_runs_in_eager(self):
        def f(m, x):
            with torch.inference_mode():
                y = m(x)
            return y, x + 1
        self.check(f, self.model, self.x, eager_reason="part of the graph is in inference mode")

    def test_other_grad_modes_and_sizes_are_captured_anew(self):
        watched = Watched()
        compiled = torch.compile(self.model, backend=watched, dynamic=True)
        for batch in (4, 5, 6):
            x = torch.randn(batch, 8)
            torch.testing.assert_close(compiled(x), self.model(x))
            with torch.no_grad():
                torch.testing.assert_close(compiled(x), self.model(x))
        self.check_reasons(watched, None)

    def test_random_numbers_are_eagers(self):
        self.check(lambda x: nn.functional.dropout(x, 0.5) + torch.rand_like(x),
                   torch.randn(16, requires_grad=True))


class Autograd(LikeEager):
    def test_checkpoint(self):
        model = nn.Sequential(nn.Linear(8, 8), nn.Tanh(), nn.Linear(8, 2))
        self.check(lambda m, x: checkpoint(m, x, use_reentrant=False), model, torch.randn(4, 8))

    def test_checkpoint_with_random_numbers(self):
        model = nn.Sequential(nn.Linear(8, 8), nn.Dropout(0.5), nn.Linear(8, 2))
        self.check(lambda m, x: checkpoint(m, x, use_reentrant=False), model, torch.randn(4, 8))

    def test_a_function_with_its_own_gradient(self):
        self.check(lambda x: Cube.apply(x).sum(), torch.randn(4, requires_grad=True))

    def test_a_function_that_saves_its_result_and_marks_another(self):
        self.check(lambda x: ExpAndSign.apply(x * 2)[0], torch.randn(4, requires_grad=True))

    def test_a_hook_on_a_result(self):
        model, x = nn.Linear(4, 3), torch.randn(2, 4)
        expected = torch.autograd.grad(model(x).sum() * 2, model.weight)[0]
        y = torch.compile(model, backend="torchdyn")(x)
        y.register_hook(lambda g: g * 2)
        torch.testing.assert_close(torch.autograd.grad(y.sum(), model.weight)[0], expected)

    def test_saved_tensor_hooks_see_what_backward_uses(self):
        watched = Watched()
        compiled = torch.compile(lambda x: x.exp().sin(), backend=watched)
        x = torch.randn(4, requires_grad=True)
        packed = []
        with torch.autograd.graph.saved_tensors_hooks(lambda t: packed.append(t) or t, lambda t: t):
            y = compiled(x)
        self.assertTrue(packed)
        self.check_reasons(watched, None)
        y.sum().backward()
        torch.testing.assert_close(x.grad, x.detach().exp() * x.detach().exp().cos())

    def test_a_gradient_of_a_gradient(self):
        def penalty(f, x):
            (g,) = torch.autograd.grad(f(x).sum(), x, create_graph=True)
            (second,) = torch.autograd.grad((g * g).sum(), x)
            return second
        def f(x):
            return x.sin() * x
        x = torch.randn(4, requires_grad=True)
        torch.testing.assert_close(penalty(torch.compile(f, backend="torchdyn"), x), penalty(f, x))

    def test_a_gradient_of_a_gradient_whose_operators_have_none(self):
        def penalty(f, x):
            (g,) = torch.autograd.grad(f(x).sum(), x, create_graph=True)
            return torch.autograd.grad((g * g).sum(), x)
        for f in (nn.functional.silu, nn.functional.mish):
            x = torch.randn(4, dtype=torch.float64, requires_grad=True)
            compiled = torch.compile(lambda x, f=f: f(x) * x, backend="torchdyn")
            torch.testing.assert_close(penalty(compiled, x), penalty(lambda x: f(x) * x, x))

    def test_a_gradient_of_a_gradient_with_random_numbers(self):
        def f(x):
            return (nn.functional.dropout(x, 0.5) * x).sin()
        def penalty(f, x):
            torch.manual_seed(3)
            y = f(x)
            (g,) = torch.autograd.grad(y.sum(), x, create_graph=True)
            (second,) = torch.autograd.grad((g * g).sum(), x)
            return y, g, second, torch.rand(2)
        x = torch.randn(8, requires_grad=True)
        torch.testing.assert_close(penalty(torch.compile(f, backend="torchdyn"), x), penalty(f, x))


class Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x * x

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * 3 * x * x * 2  # not the true one: this rule must be used


class ExpAndSign(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        y, sign = x.exp(), x.sign()
        ctx.mark_non_differentiable(sign)
        ctx.save_for_backward(y)
        ctx.factor = 3.0
        return y, sign

    @staticmethod
    def backward(ctx, grad, _):
        (y,) = ctx.saved_tensors
        return grad * y * ctx.factor


if __name__ == "__main__":
    unittest.main()
