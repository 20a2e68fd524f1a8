"""KernelBench's level 1 without products, convolutions and attention: operators and shapes; f32.

    problem = LEVEL1[0]
    problem.function(*problem.inputs(problem.shape, "cuda"))
"""
from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.nn.functional as F


def uniform(shape, device):
    return (torch.rand(shape, device=device),)


def uniform_two(shape, device):
    return torch.rand(shape, device=device), torch.rand(shape, device=device)


@dataclass(frozen=True)
class Problem:
    name: str
    family: str
    shape: tuple[int, ...]  # of the largest input
    function: Callable[..., torch.Tensor]
    inputs: Callable[[tuple[int, ...], str], tuple[torch.Tensor, ...]] = uniform
    again: int = 0          # so many first inputs come from memory twice; see README.md


def normalised(count):
    """An NCHW tensor and vectors with an element a channel."""
    def inputs(shape, device):
        return *uniform(shape, device), *(torch.rand(shape[1], device=device) for _ in range(count))

    return inputs


def with_sample_weights(shape, device):
    """A tensor, and weight and bias of one sample's shape."""
    return *uniform(shape, device), *(torch.rand(shape[1:], device=device) for _ in range(2))


def with_signs(shape, device):
    return *uniform(shape, device), torch.randint(2, shape[1:], device=device).float() * 2 - 1


def with_mask(shape, device):
    return *uniform(shape, device), torch.randint(2, shape, device=device).bool()


def with_labels(shape, device):
    return *uniform(shape, device), torch.randint(shape[1], shape[:1], device=device)


def distributions(shape, device):
    return tuple(x.softmax(-1) for x in uniform_two(shape, device))


def uniform_three(shape, device):
    return *uniform(shape, device), *uniform_two(shape, device)


def exclusive_sum(x):
    return F.pad(x[:, :-1], (1, 0)).cumsum(1)


def new_gelu(x):
    return F.gelu(x, approximate="tanh")


FLAT, SCANNED, GRID = (4096, 393216), (32768, 32768), (128, 4096, 4095)
IMAGES = (112, 64, 512, 512)

ACTIVATIONS = [Problem(name, "activation", FLAT, function) for name, function in {
    "relu": lambda x: torch.relu(x),
    "leaky relu": lambda x: F.leaky_relu(x, 0.01),
    "sigmoid": lambda x: torch.sigmoid(x),
    "tanh": lambda x: torch.tanh(x),
    "swish": lambda x: x * torch.sigmoid(x),
    "gelu (level 1)": lambda x: F.gelu(x),
    "selu": lambda x: F.selu(x),
    "hardsigmoid": lambda x: F.hardsigmoid(x),
    "softplus": lambda x: F.softplus(x),
    "softsign": lambda x: F.softsign(x),
    "elu": lambda x: F.elu(x),
    "hardtanh": lambda x: F.hardtanh(x),
}.items()] + [Problem("tanh gelu", "activation", (8192, 8192), new_gelu)]

NORMS = [
    Problem("softmax (level 1)", "norm", FLAT, lambda x: torch.softmax(x, 1)),
    Problem("log softmax", "norm", FLAT, lambda x: torch.log_softmax(x, 1)),
    Problem("BatchNorm2d", "norm", (64, 64, 512, 512),
            lambda x, w, b: F.batch_norm(x, None, None, w, b, training=True), normalised(2),
            again=1),
    Problem("InstanceNorm2d", "norm", IMAGES, lambda x: F.instance_norm(x)),
    Problem("GroupNorm", "norm", IMAGES, lambda x, w, b: F.group_norm(x, 8, w, b), normalised(2)),
    Problem("RMSNorm over channels", "norm", IMAGES,
            lambda x: x * torch.rsqrt(x.square().mean(1, keepdim=True) + 1e-5)),
    Problem("Frobenius norm", "norm", IMAGES, lambda x: x / torch.linalg.vector_norm(x), again=1),
    Problem("L1 norm", "norm", (32768, 65535), lambda x: x / x.abs().mean(1, keepdim=True)),
    Problem("L2 norm", "norm", (32768, 65535), lambda x: F.normalize(x, dim=1)),
    Problem("LayerNorm of images", "norm", (16, 64, 256, 256),
            lambda x, w, b: F.layer_norm(x, x.shape[1:], w, b), with_sample_weights),
]

POOLINGS = [
    Problem("max pool 1d", "pooling", (64, 192, 65536),
            lambda x: F.max_pool1d(x, 8, stride=1, padding=4, dilation=3)),
    Problem("max pool 2d", "pooling", (32, 64, 512, 512),
            lambda x: F.max_pool2d(x, 4, stride=1, padding=1)),
    Problem("max pool 3d", "pooling", (16, 32, 128, 128, 128),
            lambda x: F.max_pool3d(x, 3, stride=2, padding=1, dilation=3)),
    Problem("mean pool 1d", "pooling", (64, 128, 65536),
            lambda x: F.avg_pool1d(x, 8, stride=1, padding=4)),
    Problem("mean pool 2d", "pooling", (16, 64, 2048, 2048), lambda x: F.avg_pool2d(x, 11)),
    Problem("mean pool 3d", "pooling", (16, 32, 128, 128, 256),
            lambda x: F.avg_pool3d(x, 3, stride=2, padding=1)),
]

REDUCTIONS = [Problem(f"{name} over a dim", "reduction", GRID, function) for name, function in {
    "sum": lambda x: x.sum(1, keepdim=True),
    "mean": lambda x: x.mean(1),
    "max": lambda x: x.max(1).values,
    "min": lambda x: x.min(1).values,
    "argmax": lambda x: x.argmax(1),
    "argmin": lambda x: x.argmin(1),
}.items()]

SCANS = [
    Problem("cumsum (level 1)", "scan", SCANNED, lambda x: x.cumsum(1)),
    Problem("cumprod", "scan", SCANNED, lambda x: x.cumprod(1)),
    Problem("reverse cumsum", "scan", SCANNED, lambda x: x.flip(1).cumsum(1).flip(1)),
    Problem("exclusive cumsum", "scan", SCANNED, exclusive_sum),
    Problem("masked cumsum", "scan", SCANNED, lambda x, mask: (x * mask).cumsum(1), with_mask),
]

LOSSES = [
    Problem("mse", "loss", SCANNED, lambda x, y: F.mse_loss(x, y), uniform_two),
    Problem("cross-entropy", "loss", (32768, 4096),
            lambda x, y: F.cross_entropy(x, y), with_labels),
    Problem("huber", "loss", SCANNED, lambda x, y: F.smooth_l1_loss(x, y), uniform_two),
    Problem("kl div", "loss", (16384, 16384),
            lambda x, y: F.kl_div(x.log(), y, reduction="batchmean"), distributions),
    Problem("triplet margin", "loss", (32768, 8192),
            lambda a, p, n: F.triplet_margin_loss(a, p, n), uniform_three),
    Problem("hinge", "loss", SCANNED, lambda x, y: (1 - x * y).clamp(min=0).mean(), with_signs),
]

LEVEL1 = [*ACTIVATIONS, *NORMS, *POOLINGS, *REDUCTIONS, *SCANS, *LOSSES]
