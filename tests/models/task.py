"""One architecture as a thing to train: what every family's table is made of.

    ROWS = [Row("gpt2", lambda: language(GPT2LMHeadModel(GPT2Config(...)), vocabulary=97))]
    task = ROWS[0].build()
    loss, outputs = task(**task.inputs(batch=2))
"""
from collections.abc import Callable
from dataclasses import dataclass

import torch


class Task(torch.nn.Module):
    """A model that returns (loss, outputs). `make_inputs(batch)` is the keyword arguments of a step."""

    def __init__(self, model, make_inputs, forward):
        super().__init__()
        self.model, self.make_inputs, self.run = model, make_inputs, forward

    def forward(self, **inputs):
        return self.run(self.model, **inputs)

    def inputs(self, batch, sample=0):
        """A sample's numbers, the same on every call, on the model's device, floating ones in its
        dtype."""
        like = next(self.parameters())
        with torch.random.fork_rng():
            torch.manual_seed(batch + 1000 * sample)
            made = self.make_inputs(batch)
        return {name: value.to(like) if value.is_floating_point() else value.to(like.device)
                for name, value in made.items()}


@dataclass(frozen=True)
class Row:
    name: str
    build: Callable[[], Task]
    quick: bool = False  # one of the handful that CI runs
    expected: str = ""  # part of the reason for which it must fail


def without_dropout(module):
    """Two dtypes draw different random numbers, so that their runs could not be compared."""
    for part in module.modules():
        for name, value in list(vars(part).items()):
            rate = isinstance(value, float) and ("drop" in name or name == "p")
            if rate and "dropped" not in name:
                setattr(part, name, 0.0)
    return module
