"""What captured frames read: a module with members of each kind, globals, a context variable, functions."""
import collections
import contextvars

import torch
from torch import nn

CURRENT = contextvars.ContextVar("current", default=2)
SCALE = 2.0
TABLE = {"a": 2.0, "b": 3.0}


def helper(x, by=2.0):
    return x * by


class Slotted:
    __slots__ = ("scale",)

    def __init__(self, scale):
        self.scale = scale


class Settings:
    shift = 1.0

    def __init__(self, scale):
        self.scale = scale

    def apply(self, x):
        return x * self.scale + self.shift


class OtherSettings(Settings):
    def apply(self, x):
        return x - self.scale


class Block(nn.Module):
    bias = 0.5

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.linear = nn.Linear(3, 3)
        self.drop = nn.Dropout(0.5)
        self.steps = nn.ModuleList([nn.Linear(3, 3), nn.ReLU()])
        self.register_buffer("offset", torch.ones(3))
        self.scale = 2.0
        self.factors = [1.0, 2.0]
        self.pair = (1.0, 2.0)
        self.options = {"gain": 3.0}
        self.ordered = collections.OrderedDict(a=1.0, b=2.0)
        self.settings = Settings(2.0)
        self.slotted = Slotted(2.0)
        self.names = {"twice"}
        self.method = Settings(5.0).apply

    def forward(self, x):
        x = self.linear(x) * self.scale + self.offset
        for step in self.steps:
            x = step(x)
        for factor in self.factors:
            x = x * factor
        for name, value in self.options.items():
            x = x + value
        for name, value in self.ordered.items():
            x = x * 2 + value
        if "twice" in self.names:
            x = x * 2
        x = self.settings.apply(x) * self.slotted.scale * self.pair[1] + self.bias
        return helper(x) * SCALE * TABLE["a"] + self.method(x) * CURRENT.get()


class OtherBlock(Block):
    def forward(self, x):
        return self.linear(x) - self.offset


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.Sequential(Block(), Block())
        self.calls = 0

    def forward(self, x):
        return self.blocks(x).sin()


X = torch.linspace(-1, 1, 6).reshape(2, 3)
LONG = 5  # calls until guards have settled
