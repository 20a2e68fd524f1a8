"""What is timed over a sweep of sizes: one operator or pattern a row.

    row = ROWS["softmax"]
    inputs = row.inputs(2**20, torch.bfloat16, "cuda")      # of 2**20 elements in the largest
    row.function(*inputs)
"""
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F

from level1 import LEVEL1

KIB, MIB, GIB = 2**10, 2**20, 2**30
SWEEP = (KIB, 16 * KIB, 256 * KIB, 4 * MIB, 64 * MIB, 256 * MIB, GIB)  # of the largest input
FROM_256_KIB = SWEEP[2:]
BOTH = (torch.bfloat16, torch.float32)
COLUMNS, CHANNELS, PIXELS = 4096, 256, 16  # at most
VOCABULARY, WIDTH = 50257, 768
DROPPED = 0.1


@dataclass(frozen=True)
class Row:
    name: str
    family: str
    inputs: Callable[[int, torch.dtype, str], tuple[torch.Tensor, ...]]  # elements, dtype, device
    function: Callable[..., Any]
    gradients: int = 0  # so many first inputs have one, computed in the same call
    again: int = 0      # so many first inputs come from memory twice; see README.md
    random: bool = False
    sizes: tuple[int, ...] = SWEEP
    dtypes: tuple[torch.dtype, ...] = BOTH


def side(elements):
    """The greatest power of two whose square is not above."""
    return 2 ** int(math.log2(max(elements, 1)) / 2)


def matrix(elements, dtype, device, columns=None):
    columns = columns or min(COLUMNS, side(elements))
    return torch.randn(max(elements // columns, 1), columns, dtype=dtype, device=device)


def one(elements, dtype, device):
    return (matrix(elements, dtype, device),)


def two(elements, dtype, device):
    return matrix(elements, dtype, device), matrix(elements, dtype, device)


def square(elements, dtype, device):
    return (matrix(elements, dtype, device, columns=side(elements)),)


def with_vectors(count):
    """A matrix and vectors as long as its rows."""
    def inputs(elements, dtype, device):
        x = matrix(elements, dtype, device)
        return x, *(torch.randn(x.shape[1], dtype=dtype, device=device) for _ in range(count))

    return inputs


def images(elements, dtype, device):
    """Channels last."""
    channels = min(CHANNELS, side(elements))
    pixels = min(PIXELS, side(elements // channels))
    batch = max(elements // channels // pixels**2, 1)
    x = torch.randn(batch, pixels, pixels, channels, dtype=dtype, device=device)
    return (x.permute(0, 3, 1, 2),)


def logits(elements, dtype, device):
    x = matrix(elements, dtype, device, columns=VOCABULARY)
    return x, torch.randint(VOCABULARY, x.shape[:1], device=device)


def gradient_and_tokens(elements, dtype, device):
    """Each token comes four times, or as often as the vocabulary demands."""
    gradient = matrix(elements, dtype, device, columns=min(WIDTH, elements))
    count = gradient.shape[0]
    vocabulary = min(VOCABULARY, max(count // 4, 1))
    return gradient, torch.randint(vocabulary, (count,), device=device)


def embedding_backward(gradient, tokens):
    vocabulary = min(VOCABULARY, max(gradient.shape[0] // 4, 1))
    return torch.ops.aten.embedding_dense_backward(gradient, tokens, vocabulary, -1, False)


def layer_norm(x, weight, bias):
    return F.layer_norm(x, x.shape[-1:], weight, bias)


def rms_norm(x, weight):
    return F.rms_norm(x, x.shape[-1:], weight)


def softmax(x):
    return torch.softmax(x, -1)


def cross_entropy(x, labels):
    return F.cross_entropy(x.float(), labels)


SWEPT = [
    Row("add", "pointwise", two, lambda x, y: x + y),
    Row("gelu", "pointwise", one, lambda x: F.gelu(x)),
    Row("transpose, add", "pointwise", square, lambda x: x.t().contiguous() + 1),
    Row("bias, gelu", "pointwise", with_vectors(1), lambda x, bias: F.gelu(x + bias)),
    Row("concat", "pointwise", two, lambda x, y: torch.cat((x, y), -1)),
    Row("row sum", "inner reduction", one, lambda x: x.sum(-1)),
    Row("softmax", "inner reduction", one, softmax),
    Row("LayerNorm", "inner reduction", with_vectors(2), layer_norm),
    Row("RMSNorm", "inner reduction", with_vectors(1), rms_norm),
    Row("column sum", "outer reduction", one, lambda x: x.sum(0)),
    Row("BatchNorm statistics", "outer reduction", images,
        lambda x: torch.var_mean(x, (0, 2, 3), correction=0)),
    Row("sum", "full reduction", one, lambda x: x.sum()),
    Row("mse loss", "full reduction", two, lambda x, y: F.mse_loss(x, y)),
    Row("cumsum", "scan", one, lambda x: x.cumsum(-1)),
    Row("softmax, backward", "forward and backward", one, softmax, gradients=1, again=1),
    Row("LayerNorm, backward", "forward and backward", with_vectors(2), layer_norm,
        gradients=3, again=1),
    Row("RMSNorm, backward", "forward and backward", with_vectors(1), rms_norm,
        gradients=2, again=1),
    Row("cross-entropy, backward", "forward and backward", logits, cross_entropy,
        gradients=1, again=1, sizes=FROM_256_KIB),
    Row("dropout", "dropout", one, lambda x: F.dropout(x, DROPPED), random=True),
    Row("dropout, backward", "dropout", one, lambda x: F.dropout(x, DROPPED),
        gradients=1, random=True),
    Row("embedding backward", "embedding", gradient_and_tokens, embedding_backward),
]


def of_shape(problem):
    """A row of the problem's own size; another size is another first dimension."""
    def inputs(elements, dtype, device):
        batch = max(elements // math.prod(problem.shape[1:]), 1)
        return problem.inputs((batch, *problem.shape[1:]), device)

    return Row(problem.name, f"level 1 {problem.family}", inputs, problem.function,
               again=problem.again, sizes=(math.prod(problem.shape) * 4,), dtypes=(torch.float32,))


ROWS = {row.name: row for row in [*SWEPT, *map(of_shape, LEVEL1)]}
