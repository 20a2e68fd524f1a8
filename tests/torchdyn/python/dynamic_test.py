"""Sizes that change from call to call: one graph and one set of kernels serves them all."""
import unittest

import torch
from like_eager import LikeEager, fresh
from torch import nn
from torch.nn import functional as F
from torchdyn.explanation import Watched


class Sizes(LikeEager):
    def check_sizes(self, function, *calls, dynamic=True, variants=1):
        """Every call is eager's, and `variants` captures serve them all. Returns the graphs."""
        torch._dynamo.reset()
        watched = Watched()
        compiled = torch.compile(function, backend=watched, dynamic=dynamic, fullgraph=True)
        for args in calls:
            eager_args, our_args = fresh(args), fresh(args)
            torch.manual_seed(7)
            expected = function(*eager_args)
            torch.manual_seed(7)
            actual = compiled(*our_args)
            self.assert_same(actual, expected)
            self.assert_gradients(actual, our_args, expected, eager_args)
            self.assert_same_state(our_args, eager_args)
            self.assertEqual(self.aliases(actual, our_args), self.aliases(expected, eager_args))
        self.check_reasons(watched, None)
        made = [variant for graph in watched.graphs for variant in graph.variants]
        self.assertEqual([v["fixed_reason"] for v in made if v["fixed_reason"]], [])
        self.assertEqual(len(made), variants, [graph.recompile_reasons for graph in watched.graphs])
        return watched.graphs

    def check_batches(self, function, make, sizes=(4, 7, 5, 32), **keywords):
        return self.check_sizes(function, *((make(n),) for n in sizes), **keywords)


class AnySize(Sizes):
    def test_pointwise(self):
        self.check_batches(lambda x: (x * 2 + 1).relu(), lambda n: torch.randn(n, 3))

    def test_pointwise_with_gradient(self):
        self.check_batches(lambda x: x.sin() * x, lambda n: torch.randn(n, 3, requires_grad=True))

    def test_two_sizes(self):
        self.check_sizes(lambda x, y: x @ y.t(),
                         *((torch.randn(n, 8), torch.randn(m, 8)) for n, m in ((4, 7), (9, 3))))

    def test_reductions(self):
        self.check_batches(lambda x: (x.sum(), x.mean(0), x.mean(), x.var(1), x.amax(1)),
                           lambda n: torch.randn(n, 5, requires_grad=True))

    def test_softmax_over_an_open_size(self):
        self.check_batches(lambda x: x.softmax(-1), lambda n: torch.randn(3, n, requires_grad=True))

    def test_shapes(self):
        self.check_batches(lambda x: (x.reshape(-1), x.transpose(0, 1).reshape(6, -1),
                                      x.flatten(1), x[1:] + x[:-1], x.unsqueeze(1).expand(-1, 4, -1, -1)),
                           lambda n: torch.randn(n, 2, 3))

    def test_concatenation(self):
        self.check_sizes(lambda x, y: torch.cat([x, y, x]) * 2,
                         *((torch.randn(n, 3), torch.randn(m, 3)) for n, m in ((4, 7), (9, 3))))

    def test_numbers(self):
        def f(x):
            n = x.shape[0]
            return x * n + torch.arange(n)[:, None], n * 2 + 1, torch.full((n,), 3.0)
        self.check_batches(f, lambda n: torch.randn(n, 3))

    def test_a_view_whose_size_is_a_number(self):
        table = torch.randn(32, 3)
        torch._dynamo.mark_static(table)
        self.check_sizes(lambda t, n: t[:n], *((table, n) for n in (4, 9, 7)))

    def test_an_int_argument(self):
        self.check_sizes(lambda x, n: x.sum() + torch.ones(n), (torch.randn(3), 4), (torch.randn(3), 9))

    def test_an_argument_changed_in_place(self):
        self.check_batches(lambda x: x.add_(1) * 2, lambda n: torch.randn(n, 3))

    def test_a_view_of_an_argument(self):
        self.check_batches(lambda x: (x.view(-1), x[1:]), lambda n: torch.randn(n, 3))

    def test_random_numbers(self):
        self.check_batches(lambda x: F.dropout(x, 0.5) * 2, lambda n: torch.randn(n, 16, requires_grad=True))

    def test_a_perceptron_trains(self):
        model = nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.LayerNorm(16), nn.Linear(16, 4))
        self.check_sizes(lambda m, x: m(x), *((model, torch.randn(n, 8)) for n in (3, 8, 5)))

    def test_a_convolutional_network_trains(self):
        model = nn.Sequential(nn.Conv2d(3, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2),
                              nn.Flatten(), nn.Linear(64, 5))
        self.check_sizes(lambda m, x: m(x), *((model, torch.randn(n, 3, 8, 8)) for n in (6, 4, 5)))

    def test_an_image_of_any_size(self):
        model = nn.Sequential(nn.Conv2d(3, 4, 3, padding=1, stride=2), nn.ReLU(), nn.MaxPool2d(2),
                              nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, 5))
        self.check_sizes(lambda m, x: m(x), *((model, torch.randn(2, 3, n, n + 4)) for n in (16, 31, 25)),
                         variants=2)  # Dynamo guards on the sizes' parity

    def test_a_transformer_trains(self):
        model = nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0, batch_first=True)
        self.check_sizes(lambda m, x: m(x),
                         *((model, torch.randn(n, t, 16)) for n, t in ((2, 5), (3, 9), (7, 4))))

    def test_words_with_a_loss(self):
        model = nn.Sequential(nn.Embedding(11, 8), nn.Linear(8, 11))

        def f(m, tokens):
            logits = m(tokens)
            return F.cross_entropy(logits[:, :-1].reshape(-1, 11), tokens[:, 1:].reshape(-1))
        self.check_sizes(f, *((model, torch.randint(11, (n, t))) for n, t in ((2, 5), (3, 9), (7, 4))))

    def test_a_gradient_of_a_gradient(self):
        def f(x):
            return (x * x * x).sum()
        compiled = torch.compile(f, backend="torchdyn", dynamic=True)
        for n in (4, 7):
            x = torch.randn(n, 2, requires_grad=True)
            gradient, = torch.autograd.grad(compiled(x), x, create_graph=True)
            second, = torch.autograd.grad(gradient.sum(), x)
            torch.testing.assert_close(second, 6 * x.detach())


class WhenSizesOpen(Sizes):
    def test_a_second_size_opens_it(self):
        self.check_batches(lambda x: x * 2, lambda n: torch.randn(n, 3), dynamic=None, variants=2)

    def test_mark_dynamic_opens_it_at_once(self):
        def make(n):
            x = torch.randn(n, 3)
            torch._dynamo.mark_dynamic(x, 0)
            return x
        self.check_batches(lambda x: x * 2, make, dynamic=None)

    def test_a_size_of_one_is_another_program(self):
        self.check_batches(lambda x: x * 2, lambda n: torch.randn(n, 3), sizes=(1, 4, 9, 1), variants=2)

    def test_a_branch_on_a_size_is_two_graphs(self):
        self.check_batches(lambda x: x * 2 if x.shape[0] > 8 else x.sin(),
                           lambda n: torch.randn(n, 3), sizes=(4, 7, 9, 32, 5), variants=2)

    def test_a_size_that_guards_leave_few_values_is_fixed_with_the_reason(self):
        torch._dynamo.reset()
        watched = Watched()
        compiled = torch.compile(lambda x: x * 2 if x.shape[0] < 6 else x, backend=watched, dynamic=True)
        compiled(torch.randn(5))
        compiled(torch.randn(2))
        reasons = [v["fixed_reason"] for graph in watched.graphs for v in graph.variants]
        self.assertIn("too few sizes", reasons[0])

    def test_an_lstm_that_onednn_runs_has_the_sizes_of_its_workspace(self):
        torch._dynamo.reset()
        torch._dynamo.config.allow_rnn = True
        self.addCleanup(setattr, torch._dynamo.config, "allow_rnn", False)
        lstm, watched = nn.LSTM(5, 6), Watched()
        compiled = torch.compile(lambda x: lstm(x)[0] * 2, backend=watched, dynamic=True)
        for n in (3, 6, 9):
            x = torch.randn(4, n, 5, requires_grad=True)
            self.assert_same(compiled(x), lstm(x)[0] * 2)
        reasons = [v["fixed_reason"] for graph in watched.graphs for v in graph.variants]
        self.assertEqual(len(reasons), 3)
        for reason in reasons:
            self.assertIn("no expression of the sizes gives", reason)

    def test_many_sizes_do_not_reach_the_limit(self):
        graphs = self.check_batches(lambda x: x.cumsum(0), lambda n: torch.randn(n, 3), sizes=range(2, 40))
        self.assertIn("sizes: s0 = ", "\n".join(graphs[0].variants[0]["guards"]))


class Frozen(Sizes):
    def test_what_depends_on_parameters_alone_is_a_constant_for_every_size(self):
        model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten()).eval()
        watched = Watched(options={"freezing": True})
        compiled = torch.compile(model, backend=watched, dynamic=True, fullgraph=True)
        with torch.no_grad():
            for n in (4, 6, 9):
                x = torch.randn(n, 3, 8, 8)
                torch.testing.assert_close(compiled(x), model(x))
        variant, = watched.graphs[0].variants
        self.assertNotIn("batch_norm", variant["graphs"][0]["text"])


class SizesOfValues(Sizes):
    """What reads values runs by itself; the pieces between serve every size."""

    def setUp(self):
        super().setUp()
        config = torch._dynamo.config.patch(capture_scalar_outputs=True,
                                            capture_dynamic_output_shape_ops=True)
        config.__enter__()
        self.addCleanup(config.__exit__, None, None, None)

    def test_nonzero(self):
        def f(x):
            i = x.abs().gt(0.5).nonzero()
            return (x[i[:, 0], i[:, 1]] * 2).exp(), i + 1
        self.check_sizes(f, *((torch.randn(6, 5),) for _ in range(12)), dynamic=None, variants=2)

    def test_a_mask_with_gradient(self):
        def f(x):
            y = x * 2
            return y[y > 0].sin() * 3
        self.check_sizes(f, *((torch.randn(40, requires_grad=True),) for _ in range(12)), dynamic=None,
                         variants=2)

    def test_an_item_that_is_a_size(self):
        def f(x, k):
            n = k.item()
            torch._check(n >= 2)
            torch._check(n <= x.shape[0])
            return x.narrow(0, 0, n) * 2, torch.arange(n)
        self.check_sizes(f, *((torch.randn(10, 5), torch.tensor(k)) for k in range(2, 10)), dynamic=None)

    def test_what_is_read_beside_a_change_of_mode_is_one_graph_a_size(self):
        model = nn.Linear(5, 3)

        def f(m, x):
            with torch.no_grad():
                i = (x.sum(1) > 0).nonzero()[:, 0]
            return m(x[i])
        torch._dynamo.reset()
        compiled = torch.compile(f, backend="torchdyn")
        for _ in range(3):
            x = torch.randn(8, 5)
            torch.testing.assert_close(compiled(model, x), f(model, x))
            self.assertTrue(compiled(model, x).requires_grad)

    def test_a_float_that_is_read_cuts_nothing(self):
        watched = Watched()
        compiled = torch.compile(lambda x, s: (x * s.item()).sin(), backend=watched, fullgraph=True)
        x = torch.randn(4, 3)
        for scale in (2.0, 2.0, 3.0):
            torch.testing.assert_close(compiled(x, torch.tensor(scale)), (x * scale).sin())
        self.assertEqual(len(watched.graphs), 1)

    def test_a_failed_check_is_eagers_error(self):
        def f(x, k):
            n = k.item()
            torch._check(n <= x.shape[0])
            return torch.zeros(n)
        compiled = torch.compile(f, backend="torchdyn", fullgraph=True)
        compiled(torch.randn(10), torch.tensor(4))
        with self.assertRaises(RuntimeError):
            compiled(torch.randn(10), torch.tensor(11))


if __name__ == "__main__":
    unittest.main()
