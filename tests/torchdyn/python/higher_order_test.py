"""Higher-order operators that Dynamo puts into graphs, and custom operators, give what eager gives."""
import unittest

import torch
from like_eager import LikeEager
from torch.nn.attention.flex_attention import create_block_mask, flex_attention
from torchdyn.explanation import Watched


class ControlFlow(LikeEager):
    def test_cond_takes_the_branch_of_the_value(self):
        def f(x):
            return torch.cond(x.sum() > 0, lambda x: x.sin(), lambda x: x * 2, (x,))
        watched = Watched()
        compiled = torch.compile(f, backend=watched)
        for x in (torch.ones(3), -torch.ones(3), torch.ones(3)):
            torch.testing.assert_close(compiled(x), f(x))
        self.check_reasons(watched, None)

    def test_cond_trains(self):
        def f(x):
            return torch.cond(x.sum() > 0, lambda x: x.sin(), lambda x: x * 2, (x,))
        self.check(f, torch.ones(3, requires_grad=True))

    def test_while_loop_runs_until_its_condition_fails(self):
        def f(x):
            return torch.while_loop(lambda n, x: n < 4, lambda n, x: (n + 1, x * 1.5),
                                    (torch.tensor(0), x))
        self.check(f, torch.randn(3))

    def test_scan(self):
        from torch._higher_order_ops.scan import scan

        def f(x):
            return scan(lambda c, x: (c + x, c * x), torch.zeros(3), x)
        self.check(f, torch.randn(5, 3))

    def test_associative_scan(self):
        from torch._higher_order_ops.associative_scan import associative_scan

        def f(x):
            return associative_scan(lambda a, b: a * b, x, 0, combine_mode="generic")
        self.check(f, torch.rand(5, 3))

    def test_map(self):
        from torch._higher_order_ops.map import map as map_rows

        def f(x, y):
            return map_rows(lambda row, y: row.sin() + y, x, y)
        self.check(f, torch.randn(4, 3), torch.randn(3))


class FlexAttention(LikeEager):
    def setUp(self):
        super().setUp()
        self.qkv = [torch.randn(2, 4, 128, 16) for _ in range(3)]

    def test_plain(self):
        self.check(flex_attention, *self.qkv)

    def test_a_score_that_depends_on_places(self):
        def f(q, k, v):
            return flex_attention(q, k, v, score_mod=lambda s, b, h, i, j: s + (i - j) * 0.01)
        self.check(f, *self.qkv)

    def test_a_causal_mask(self):
        mask = create_block_mask(lambda b, h, i, j: i >= j, None, None, 128, 128, device="cpu")
        self.check(lambda q, k, v: flex_attention(q, k, v, block_mask=mask), *self.qkv)


@torch.library.custom_op("torchdyn_tests::scaled_sum", mutates_args=())
def scaled_sum(x: torch.Tensor, factor: float) -> torch.Tensor:
    return x.sum(-1) * factor


@scaled_sum.register_fake
def _(x, factor):
    return x.new_empty(x.shape[:-1])


scaled_sum.register_autograd(
    lambda ctx, grad: (grad.unsqueeze(-1).expand(ctx.shape) * ctx.factor, None),
    setup_context=lambda ctx, inputs, output: vars(ctx).update(
        shape=inputs[0].shape, factor=inputs[1]))


@torch.library.custom_op("torchdyn_tests::without_fake", mutates_args=())
def without_fake(x: torch.Tensor) -> torch.Tensor:
    return x * 2


class CustomOperators(LikeEager):
    def test_one_with_a_registered_fake_is_an_extern_call(self):
        graphs = self.check(lambda x: scaled_sum(x.sin(), 2.0) + 1, torch.randn(3, 4))
        (graph,) = graphs[0].variants[0]["graphs"]
        self.assertIn("torchdyn_tests::scaled_sum", graph["extern_calls"])

    def test_its_registered_gradient_is_used(self):
        self.check(lambda x: scaled_sum(x * 2, 3.0), torch.randn(3, 4, requires_grad=True))

    def test_one_without_a_fake_runs_in_eager_with_the_reason(self):
        gm = torch.fx.symbolic_trace(lambda x: torch.ops.torchdyn_tests.without_fake(x))
        watched = Watched()
        x = torch.randn(3)
        torch.testing.assert_close(watched(gm, [])(x), x * 2)
        self.check_reasons(watched, "torchdyn_tests::without_fake")


if __name__ == "__main__":
    unittest.main()
