"""One step of a task, in eager or compiled, and how far apart two of them are.

    eager, precise = run_step(task, inputs), run_step(task.double(), doubled)
    compiled = run_step(task, inputs, torch.compile(task, backend="torchdyn"))
    problems = differences([(compiled, eager, precise)])  # [] where compiled equals eager
"""
import math
import statistics
from dataclasses import dataclass

import torch

# How far compiled may be from float64: this many times as far as eager in float32 is in the same
# value or, since one value (a loss) may be exact by luck, in the median one, or as one rounding is.
FACTOR = 3.0
EPSILON = torch.finfo(torch.float32).eps
LEAST = 1e-3


@dataclass
class Step:
    """Names to tensors: "loss", "outputs", gradients and buffers by the names of the module's."""

    values: dict[str, torch.Tensor]


def run_step(task, inputs, function=None, train=True, autocast=False):
    """Of one call of `function`, the task itself by default; in training with its backward.

    `autocast`: to bfloat16, around the forward.
    """
    task.train(train)
    task.zero_grad(set_to_none=True)
    function = task if function is None else function
    device = next(task.parameters()).device.type
    with torch.set_grad_enabled(train), torch.autocast(device, torch.bfloat16, enabled=autocast):
        loss, outputs = function(**inputs)
    if train:
        loss.backward()
    values = {"loss": loss.detach(), "outputs": outputs.detach()}
    values |= {f"gradient of {name}": p.grad for name, p in task.named_parameters()
               if p.grad is not None}
    values |= {name: b.clone() for name, b in task.named_buffers()}
    return Step({name: value.clone() for name, value in values.items()})


def _distances(step, precise):
    """Of each floating value: the root mean square of its distance from float64 over that of itself.

    What is nothing but rounding (a key's bias under softmax) has no size of its own: the smallest
    that counts is LEAST of the largest among gradients, and among the other values.
    """
    apart = {name: _size(step.values[name].double() - value.double())
             for name, value in precise.values.items() if value.is_floating_point()}
    sizes = {name: _size(precise.values[name].double()) for name in apart}
    least = {kind: LEAST * max([size for name, size in sizes.items() if _kind(name) == kind])
             for kind in map(_kind, sizes)}
    return {name: apart[name] / (max(sizes[name], least[_kind(name)]) or 1.0) for name in apart}


def _kind(name):
    return "gradient" if name.startswith("gradient of ") else "value"


def _size(tensor):
    return float(tensor.square().mean().sqrt().nan_to_num(nan=math.inf)) if tensor.numel() else 0.0


def _pooled(distances):
    """The root mean square of each value's distances in several steps."""
    return {name: math.sqrt(statistics.fmean(d[name] ** 2 for d in distances))
            for name in distances[0]}


def differences(steps):
    """Lines, one a value that is farther from float64 than two runs of eager justify.

    `steps`: (compiled, eager, precise) of the same numbers; several, of different numbers, where
    one may be what it is by luck.
    """
    problems = {}  # value -> line
    for compiled, eager, _ in steps:
        if compiled.values.keys() != eager.values.keys():
            one = sorted(compiled.values.keys() ^ eager.values.keys())
            return [f"values {one} in one of them alone"]
        for name, value in compiled.values.items():
            other = eager.values[name]
            if (value.dtype, value.shape) != (other.dtype, other.shape):
                problems[name] = (f"{name} is {value.dtype}{list(value.shape)}, "
                                  f"eager's {other.dtype}{list(other.shape)}")
            elif not value.is_floating_point() and not torch.equal(value, other):
                problems[name] = f"{name} differs from eager's"
    if problems:
        return list(problems.values())
    mine = _pooled([_distances(compiled, precise) for compiled, _, precise in steps])
    theirs = _pooled([_distances(eager, precise) for _, eager, precise in steps])
    usual = max(statistics.median(theirs.values()), EPSILON)
    return [f"{name} is {mine[name]:.2g} from float64, eager {theirs[name]:.2g}, "
            f"usual {usual:.2g}"
            for name in mine if mine[name] > FACTOR * max(theirs[name], usual)]
