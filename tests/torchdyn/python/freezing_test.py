"""options={"freezing": True}: results are eager's, what is constant is computed once, nothing stale."""
import unittest

import torch
import torchdyn
from like_eager import LikeEager
from torch import nn
from torchdyn.explanation import Watched

FREEZING = {"freezing": True}


class Net(nn.Module):
    def __init__(self, bias=True, groups=1):
        super().__init__()
        self.conv = nn.Conv2d(4, 8, 3, padding=1, bias=bias, groups=groups)
        self.bn = nn.BatchNorm2d(8)
        self.linear = nn.Linear(8, 5)
        self.bn1 = nn.BatchNorm1d(5)

    def forward(self, x):
        x = torch.relu(self.bn(self.conv(x))).mean((2, 3))
        return self.bn1(self.linear(x))


def with_statistics(model):
    """As after training: running statistics and affine parameters that are not 0 and 1."""
    torch.manual_seed(1)
    for module in model.modules():
        if isinstance(module, nn.modules.batchnorm._BatchNorm):
            for tensor in (module.running_mean, module.weight, module.bias):
                nn.init.uniform_(tensor, -1, 1)
            nn.init.uniform_(module.running_var, 0.5, 2)
    return model.eval()


class FreezingCase(LikeEager):
    def setUp(self):
        super().setUp()
        torch._dynamo.reset()
        self.watched = Watched(options=FREEZING)

    @property
    def graphs(self):
        return self.watched.graphs

    def frozen(self, model):
        return torch.compile(model, backend=self.watched)

    def text(self):
        return self.graphs[0].variants[-1]["graphs"][0]["text"]

    def assert_near(self, model, compiled, x):
        """Within what two ways of rounding may differ by: eps times the terms of the largest sum."""
        with torch.no_grad():
            expected, actual = model(x), compiled(x)
        torch.testing.assert_close(actual, expected,
                                   rtol=256 * torch.finfo(x.dtype).eps,
                                   atol=256 * torch.finfo(x.dtype).eps)
        self.check_reasons(self.watched, None)


class Constants(FreezingCase):
    def test_batch_norm_goes_into_convolution_and_linear(self):
        for bias, groups, dtype in ((True, 1, torch.float32), (False, 4, torch.float32),
                                    (True, 2, torch.float64)):
            with self.subTest(bias=bias, groups=groups, dtype=dtype):
                self.setUp()
                model = with_statistics(Net(bias, groups).to(dtype))
                self.assert_near(model, self.frozen(model), torch.randn(2, 4, 6, 6, dtype=dtype))
                text = self.text()
                self.assertIn("aten::convolution", text)
                for op in ("aten::rsqrt", "aten::sub", "aten::mul.Tensor"):
                    self.assertNotIn(op, text)

    def test_channels_last(self):
        model = with_statistics(Net()).to(memory_format=torch.channels_last)
        x = torch.randn(2, 4, 6, 6).to(memory_format=torch.channels_last)
        self.assert_near(model, self.frozen(model), x)

    def test_weights_of_a_channels_last_convolution_are_packed(self):
        model = nn.Conv2d(16, 32, 3, stride=2, padding=1, groups=4).eval()
        model, x = (m.to(memory_format=torch.channels_last)
                    for m in (model, torch.randn(2, 16, 9, 9)))
        compiled = self.frozen(model)
        self.assert_near(model, compiled, x)
        self.assertIn("mkldnn::_convolution_pointwise",
                      self.graphs[0].variants[-1]["graphs"][0]["extern_calls"])
        with torch.no_grad():
            self.assertEqual(compiled(x).stride(), model(x).stride())
            model.weight.mul_(2)
        self.assert_near(model, compiled, x)

    def test_under_eagers_numerics_weights_stay_as_they_are(self):
        self.watched = Watched(options={**FREEZING, "numerics": "eager"})
        model, x = with_statistics(Net()), torch.randn(2, 4, 6, 6)
        with torch.no_grad():
            actual, expected = self.frozen(model)(x), model(x)
        torch.testing.assert_close(actual, expected)
        self.check_reasons(self.watched, None)

    def test_a_batch_norm_whose_input_is_used_twice_stays(self):
        class Twice(nn.Module):
            def __init__(self):
                super().__init__()
                self.conv, self.bn = nn.Conv2d(4, 4, 1), nn.BatchNorm2d(4)

            def forward(self, x):
                y = self.conv(x)
                return self.bn(y) + y
        model = with_statistics(Twice())
        self.assert_near(model, self.frozen(model), torch.randn(2, 4, 3, 3))

    def test_a_transposed_convolution(self):
        model = with_statistics(nn.Sequential(nn.ConvTranspose2d(4, 6, 3, groups=2), nn.BatchNorm2d(6)))
        self.assert_near(model, self.frozen(model), torch.randn(2, 4, 3, 3))

    def test_what_depends_on_parameters_alone_is_computed_once(self):
        class Positions(nn.Module):
            def __init__(self):
                super().__init__()
                self.table = nn.Parameter(torch.randn(16, 16))
                self.register_buffer("index", torch.randint(0, 16, (16,)))

            def forward(self, x):
                return x + (self.table @ self.table)[self.index].softmax(-1)
        model = Positions()
        self.assert_near(model, self.frozen(model), torch.randn(16, 16))
        graph = self.graphs[0].variants[-1]["graphs"][0]
        self.assertEqual(graph["extern_calls"], [])
        self.assertEqual(len(graph["kernels"]), 1)
        self.assertNotIn("exp", graph["text"])

    def test_casts_of_weights_under_autocast_are_done_once(self):
        model = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 8)).eval()
        compiled, x = self.frozen(model), torch.randn(4, 8)
        with torch.no_grad(), torch.autocast("cpu", torch.bfloat16):
            torch.testing.assert_close(compiled(x), model(x))
        weights = [line for line in self.text().splitlines()
                   if "_to_copy" in line and "bf16[8, 8]" in line]
        self.assertEqual(weights, [])

    def test_results_that_are_constants_are_the_callers_own(self):
        class Doubled(nn.Module):
            def __init__(self):
                super().__init__()
                self.weight = nn.Parameter(torch.randn(3))

            def forward(self, x):
                return x + 1, self.weight * 2
        model = Doubled()
        compiled, x = self.frozen(model), torch.randn(3)
        with torch.no_grad():
            compiled(x)[1].fill_(7)
            torch.testing.assert_close(compiled(x), model(x))

    def test_inference_mode(self):
        model = with_statistics(Net())
        compiled, x = self.frozen(model), torch.randn(2, 4, 6, 6)
        with torch.inference_mode():
            expected, actual = model(x), compiled(x)
        torch.testing.assert_close(actual, expected, rtol=1e-4, atol=1e-4)
        self.assertTrue(actual.is_inference())
        self.check_reasons(self.watched, None)


class NothingStale(FreezingCase):
    def setUp(self):
        super().setUp()
        self.model = with_statistics(Net())
        self.x = torch.randn(2, 4, 6, 6)
        self.compiled = self.frozen(self.model)
        self.assert_near(self.model, self.compiled, self.x)

    def check_recompiled(self, change):
        change()
        self.assert_near(self.model, self.compiled, self.x)
        reasons = [r for g in self.graphs for r in g.recompile_reasons]
        self.assertTrue(any("freezing" in r for r in reasons) or len(self.graphs) > 1, reasons)

    @torch.no_grad()
    def test_a_weight_changed_in_place(self):
        self.check_recompiled(lambda: self.model.conv.weight.mul_(2))

    @torch.no_grad()
    def test_a_statistic_changed_in_place(self):
        self.check_recompiled(lambda: self.model.bn.running_mean.add_(1))

    def test_a_replaced_parameter(self):
        self.check_recompiled(
            lambda: setattr(self.model.linear, "weight", nn.Parameter(torch.randn(5, 8))))

    def test_a_parameter_with_other_data(self):
        def change():
            self.model.linear.weight.data = torch.randn(5, 8)
        self.check_recompiled(change)

    def test_a_loaded_state(self):
        other = with_statistics(Net())
        nn.init.uniform_(other.conv.weight)
        self.check_recompiled(lambda: self.model.load_state_dict(other.state_dict()))

    def test_an_optimizers_step(self):
        def step():
            self.model(self.x).sum().backward()
            torch.optim.SGD(self.model.parameters(), 0.1).step()
        self.check_recompiled(step)

    def test_the_same_weights_are_not_compiled_again(self):
        self.assert_near(self.model, self.compiled, torch.randn(2, 4, 6, 6))
        self.assertEqual(len(self.graphs[0].variants), 1)


class WhereItIsNotFrozen(FreezingCase):
    def test_training_has_its_gradients(self):
        model = Net().eval()
        self.check(model, torch.randn(2, 4, 6, 6), options=FREEZING)

    @torch.no_grad()
    def test_a_buffer_that_the_model_changes(self):
        class Counting(nn.Module):
            def __init__(self):
                super().__init__()
                self.register_buffer("count", torch.zeros(3))

            def forward(self, x):
                self.count.add_(1)
                return x * (self.count + 1)
        model, reference, x = Counting(), Counting(), torch.randn(3)
        compiled = self.frozen(model)
        for _ in range(3):
            torch.testing.assert_close(compiled(x), reference(x))
        torch.testing.assert_close(model.count, reference.count)
        self.assertEqual(len(self.graphs[0].variants), 1)

    @torch.no_grad()
    def test_statistics_that_training_updates(self):
        self.check(Net().train(), torch.randn(2, 4, 6, 6), options=FREEZING)

    @torch.no_grad()
    def test_inputs_are_no_constants(self):
        weight = torch.randn(3, 3)
        compiled = self.frozen(lambda x, w: x @ (w * 2))
        for _ in range(2):
            x = torch.randn(2, 3)
            torch.testing.assert_close(compiled(x, weight), x @ (weight * 2))
            weight.add_(1)
        self.assertEqual(len(self.graphs[0].variants), 1)

    @torch.no_grad()
    def test_random_numbers_are_drawn_each_time(self):
        class Noisy(nn.Module):
            def __init__(self):
                super().__init__()
                self.scale = nn.Parameter(torch.ones(50))

            def forward(self, x):
                return x + torch.bernoulli(self.scale * 0.5)
        model = Noisy()
        compiled, x = self.frozen(model), torch.randn(50)
        torch.manual_seed(3)
        expected = [model(x), model(x)]
        torch.manual_seed(3)
        torch.testing.assert_close([compiled(x), compiled(x)], expected)

    @torch.no_grad()
    def test_without_the_option_weights_are_inputs(self):
        model = with_statistics(Net())
        self.check(model, torch.randn(2, 4, 6, 6))
        self.assertEqual(torchdyn.config.freezing, False)


if __name__ == "__main__":
    unittest.main()
