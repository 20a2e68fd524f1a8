"""Higher-order operators and custom operators, through torch.compile(backend="torchdyn")."""
import unittest

import torch
from like_eager import LikeEager
from torch import nn
from torch.nn.attention.flex_attention import create_block_mask, flex_attention


class HigherOrder(LikeEager):
    def test_cond_takes_each_branch(self):
        def f(x):
            return torch.cond(x.sum() > 0, lambda x: x.sin(), lambda x: x * 2, (x,))
        compiled = torch.compile(f, backend=self.collecting(graphs := []))
        for x in (torch.ones(4), -torch.ones(4), torch.ones(4)):
            torch.testing.assert_close(compiled(x), f(x))
        self.assertEqual(len(graphs[0].variants), 2)
        self.check_reasons(graphs, None)

    def test_cond_has_gradients(self):
        def f(x):
            return torch.cond(x.sum() > 0, lambda x: x.sin() * x, lambda x: x * 2, (x,))
        self.check(f, torch.ones(4, requires_grad=True))

    def test_while_loop(self):
        def f(n, x):
            return torch._higher_order_ops.while_loop(
                lambda n, x: n > 0, lambda n, x: (n - 1, x * 2), (n, x))
        self.check(f, torch.tensor(3), torch.randn(3))

    def test_scan(self):
        def f(init, xs):
            return torch._higher_order_ops.scan(lambda c, x: (c + x, c * x), init, xs, dim=0)
        self.check(f, torch.randn(3), torch.randn(5, 3))

    def test_map(self):
        def f(xs, y):
            return torch._higher_order_ops.map(lambda x, y: x.sin() + y, xs, y)
        self.check(f, torch.randn(4, 3), torch.randn(3))

    def test_associative_scan(self):
        def f(xs):
            return torch._higher_order_ops.associative_scan(
                lambda a, b: a + b, xs, dim=0, combine_mode="generic")
        self.check(f, torch.randn(6, 3))

    def test_flex_attention(self):
        def f(q, k, v):
            return flex_attention(q, k, v, score_mod=lambda s, b, h, m, n: s + (m - n) * 0.1)
        self.check(f, *(torch.randn(2, 4, 16, 8, requires_grad=True) for _ in range(3)))

    def test_flex_attention_with_a_mask_and_a_bias(self):
        bias = torch.randn(4)
        mask = create_block_mask(lambda b, h, m, n: m >= n, None, None, 16, 16, device="cpu")

        def f(q, k, v, bias):
            return flex_attention(q, k, v, score_mod=lambda s, b, h, m, n: s + bias[h],
                                  block_mask=mask, enable_gqa=True)
        self.check(f, torch.randn(2, 4, 16, 8), torch.randn(2, 2, 16, 8), torch.randn(2, 2, 16, 8),
                   bias)


@torch.library.custom_op("torchdyn_tests::scale", mutates_args=())
def scale(x: torch.Tensor, by: float) -> torch.Tensor:
    return torch.from_numpy(x.detach().numpy() * by)


@scale.register_fake
def _(x, by):
    return torch.empty_like(x)


scale.register_autograd(lambda ctx, grad: (grad * ctx.by, None),
                        setup_context=lambda ctx, inputs, output: setattr(ctx, "by", inputs[1]))


@torch.library.custom_op("torchdyn_tests::fill_row", mutates_args=("x",))
def fill_row(x: torch.Tensor, row: int) -> None:
    x.numpy()[row] = 7


@torch.library.custom_op("torchdyn_tests::without_fake", mutates_args=())
def without_fake(x: torch.Tensor) -> torch.Tensor:
    return x * 2


class CustomOperators(LikeEager):
    def test_a_custom_operator_is_an_extern_call(self):
        graphs = self.check(lambda x: scale(x * 2, 3.0) + 1, torch.randn(4, requires_grad=True))
        forward = graphs[0].variants[0]["graphs"][0]
        self.assertEqual(forward["extern_calls"], ["torchdyn_tests::scale"])

    def test_a_custom_operator_that_changes_an_argument(self):
        def f(x):
            y = x * 2
            fill_row(y, 1)
            return y + 1
        self.check(f, torch.randn(3, 2))

    def test_a_custom_operator_that_changes_an_input(self):
        def f(x):
            fill_row(x, 0)
            return x + 1
        self.check(f, torch.randn(3, 2))

    def test_an_operator_without_a_fake_breaks_the_graph(self):
        def f(x):
            return without_fake(x.sin()).cos()
        x = torch.randn(4)
        torch.testing.assert_close(torch.compile(f, backend="torchdyn")(x), f(x))

    def test_an_operator_without_a_fake_in_a_graph_runs_in_eager(self):
        gm = torch.fx.symbolic_trace(lambda x: torch.ops.torchdyn_tests.without_fake(x.sin()).cos())
        graphs = []
        x = torch.randn(4)
        torch.testing.assert_close(self.collecting(graphs)(gm, [])(x), gm(x))
        self.check_reasons(graphs, "torchdyn_tests::without_fake has no shape rule")


if __name__ == "__main__":
    unittest.main()
