"""Whole trainings through torch.compile(backend="torchdyn"): losses and what the optimizer and the scaler hold.

TORCHDYN_TEST_DEVICE=cuda trains on a GPU.
"""
import copy
import os
import unittest

import torch
from torch import nn
from torch.nn import functional as F
from torchdyn.explanation import Watched

DEVICE = os.environ.get("TORCHDYN_TEST_DEVICE", "cpu")


class Digits(nn.Module):
    """A convolution, a normalization and attention over what they see: 8 x 8 pixels, 10 classes."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 16, 3, stride=2, padding=1, bias=False)
        self.bn = nn.BatchNorm2d(16)
        self.qkv = nn.Linear(16, 48)
        self.norm = nn.LayerNorm(16)
        self.head = nn.Linear(16, 10)

    def forward(self, images, labels):
        x = F.relu(self.bn(self.conv(images))).flatten(2).transpose(1, 2)
        q, k, v = self.qkv(self.norm(x)).chunk(3, dim=-1)
        x = x + F.scaled_dot_product_attention(q.unsqueeze(1), k.unsqueeze(1), v.unsqueeze(1)).squeeze(1)
        return F.cross_entropy(self.head(x.mean(1)), labels)


def batch(step, size=16):
    """Noise over a colour a class."""
    colours = torch.randn(10, 3, 1, 1, generator=torch.Generator().manual_seed(0))
    generator = torch.Generator().manual_seed(step + 1)
    labels = torch.randint(10, (size,), generator=generator)
    images = colours[labels] + torch.randn(size, 3, 8, 8, generator=generator)
    return images.to(DEVICE), labels.to(DEVICE)


class Training:
    """A model, its optimizer and its scaler; `compiled`: through our door."""

    def __init__(self, compiled, dtype=None, channels_last=False, scale=None, rate=1e-2):
        torch.manual_seed(0)
        self.model = Digits().to(DEVICE)
        if channels_last:
            self.model = self.model.to(memory_format=torch.channels_last)
        self.memory_format = torch.channels_last if channels_last else torch.contiguous_format
        self.dtype = dtype
        self.optimizer = torch.optim.AdamW(self.model.parameters(), rate)
        self.scaler = torch.amp.GradScaler(DEVICE, enabled=scale is not None,
                                           init_scale=scale or 1.0, growth_interval=8)
        self.scales = []
        self.watched = Watched()
        self.loss = torch.compile(self.model, backend=self.watched) if compiled else self.model

    def step(self, number):
        images, labels = batch(number)
        with torch.autocast(DEVICE, self.dtype, enabled=self.dtype is not None):
            loss = self.loss(images.to(memory_format=self.memory_format), labels)
        self.optimizer.zero_grad()
        self.scaler.scale(loss).backward()
        self.scaler.step(self.optimizer)
        self.scaler.update()
        self.scales.append(self.scaler.get_scale())
        return loss.item()


class Trainings(unittest.TestCase):
    def setUp(self):
        torch._dynamo.reset()

    def train(self, steps, **how):
        """The losses of both, and the two trainings."""
        ours, eager = Training(True, **how), Training(False, **how)
        losses = [(ours.step(number), eager.step(number)) for number in range(steps)]
        self.assertEqual(ours.watched.explanation().eager_reasons, [])
        self.assertTrue(ours.watched.graphs)
        return torch.tensor(losses).T, ours, eager

    def assert_curves_agree(self, losses, within):
        """Averages of 20 steps, and that it learns."""
        ours, eager = losses.unfold(1, 20, 20).mean(-1)
        torch.testing.assert_close(ours, eager, rtol=within, atol=within / 10)
        self.assertLess(ours[-1], 0.75 * ours[0])

    def test_a_thousand_steps(self):
        losses, _, _ = self.train(1000)
        self.assert_curves_agree(losses, 0.02)

    def test_bfloat16_by_autocast(self):
        losses, _, _ = self.train(200, dtype=torch.bfloat16)
        self.assert_curves_agree(losses, 0.05)

    def test_channels_last(self):
        losses, ours, _ = self.train(200, channels_last=True)
        self.assert_curves_agree(losses, 0.02)
        self.assertTrue(ours.model.conv.weight.grad.is_contiguous(memory_format=torch.channels_last))

    def test_float16_with_a_scaler_that_grows(self):
        losses, ours, eager = self.train(200, dtype=torch.float16, scale=128.0)
        self.assert_curves_agree(losses, 0.05)
        self.assertGreater(ours.scales[-1], 128.0)

    def test_a_scaler_that_skips_steps_with_infinite_gradients(self):
        """Until the scale fits, both leave parameters and the optimizer as they were."""
        _, ours, eager = self.train(6, dtype=torch.float16, scale=2.0**60)
        self.assertEqual(ours.scales, eager.scales)
        self.assertEqual(ours.scales[-1], 2.0**54)
        for mine, theirs in zip(ours.model.parameters(), eager.model.parameters()):
            torch.testing.assert_close(mine, theirs, rtol=0, atol=0)

    def test_a_checkpoint_goes_on_in_eager_and_back(self):
        ours = Training(True)
        first = [ours.step(number) for number in range(20)]
        eager = Training(False)
        eager.model.load_state_dict(copy.deepcopy(ours.model.state_dict()))
        eager.optimizer.load_state_dict(copy.deepcopy(ours.optimizer.state_dict()))
        both = torch.tensor([(ours.step(n), eager.step(n)) for n in range(20, 40)]).T
        torch.testing.assert_close(both[0], both[1], rtol=1e-3, atol=1e-4)
        self.assertLess(both[0].mean(), sum(first) / len(first))


if __name__ == "__main__":
    unittest.main()
