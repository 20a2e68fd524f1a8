#!/usr/bin/env python3
"""Writes tests/golden/inductor/fusion/*.txt: graphs of what models and training steps are made of.

    PYTHONPATH=build/dev/python $TORCHDYN_VENV_PYTHON tests/inductor/schedule/make_fusion_corpus.py [PATTERN]

Each program below is captured for its sample arguments, forward and, where one of them requires a
gradient, backward. What the graphs compile to is written by TORCHDYN_REBASE=1 core_tests
--gtest_filter='FusionGolden.*'. A program's docstring is its golden's first line.
"""
import pathlib
import re
import sys

import torch
import torch.nn.functional as F
from torch import bfloat16, ones, rand, randn

import torchdyn

GOLDENS = pathlib.Path(__file__).resolve().parents[3] / "tests/golden/inductor/fusion"
PROGRAMS = []


def program(*samples):
    """Registers a function with the arguments that it is captured for."""
    def register(function):
        PROGRAMS.append((function, samples))
        return function
    return register


def grad(*shape, dtype=torch.float32):
    return rand(*shape, dtype=dtype).requires_grad_()


def ids(high, *shape):
    return torch.randint(0, high, shape)


@program(grad(4096, 4096), grad(4096))
def gelu(x, bias):
    """a bias and the tanh form of GELU"""
    return F.gelu(x + bias, approximate="tanh")


@program(grad(4096, 1024))
def gelu_written_out(x):
    """GELU as models write it out: nine operators, one kernel"""
    return 0.5 * x * (1 + torch.tanh(0.7978845608 * (x + 0.044715 * torch.pow(x, 3))))


@program(grad(32, 12, 512, 512))
def softmax(x):
    """a softmax over rows and its gradient"""
    return x.softmax(-1)


@program(grad(8192, 1024), grad(1024), grad(1024))
def layer_norm(x, weight, bias):
    """layer norm: statistics, and gradients over rows and over columns"""
    return F.layer_norm(x, (1024,), weight, bias)


@program(grad(8192, 1024), grad(8192, 1024), grad(1024), grad(1024))
def residual_layer_norm(x, residual, weight, bias):
    """a residual that is normalised and kept"""
    total = x + residual
    return total, F.layer_norm(total, (1024,), weight, bias)


@program(grad(8192, 2048), grad(2048))
def rms_norm(x, weight):
    """RMS norm as Llama writes it"""
    return weight * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6))


@program(grad(8192, 2048, dtype=bfloat16), grad(2048, dtype=bfloat16))
def rms_norm_half(x, weight):
    """RMS norm of bfloat16, computed in float32"""
    wide = x.float()
    wide = wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + 1e-6)
    return weight * wide.to(bfloat16)


@program(grad(32, 64, 56, 56), grad(64), grad(64), torch.zeros(64), ones(64))
def batch_norm_relu(x, weight, bias, mean, variance):
    """batch norm that trains, and a ReLU"""
    return F.relu(F.batch_norm(x, mean, variance, weight, bias, training=True))


@program(rand(32, 64, 56, 56), rand(64), rand(64), rand(64), rand(64), rand(32, 64, 56, 56))
def batch_norm_inference(x, weight, bias, mean, variance, residual):
    """batch norm by known statistics, a residual and a ReLU"""
    return F.relu(F.batch_norm(x, mean, variance, weight, bias) + residual)


@program(grad(8, 320, 64, 64), grad(320), grad(320))
def group_norm_silu(x, weight, bias):
    """group norm and SiLU of a diffusion model"""
    return F.silu(F.group_norm(x, 32, weight, bias))


@program(grad(4096, 32000), ids(32000, 4096))
def cross_entropy(logits, labels):
    """cross entropy over a vocabulary"""
    return F.cross_entropy(logits, labels)


@program(grad(4096, 32000, dtype=bfloat16), ids(32000, 4096))
def cross_entropy_half(logits, labels):
    """cross entropy of bfloat16 logits in float32"""
    return F.cross_entropy(logits.float(), labels)


@program(grad(1024, 1000), ids(1000, 1024))
def label_smoothing(logits, labels):
    """cross entropy with smoothed labels"""
    return F.cross_entropy(logits, labels, label_smoothing=0.1)


@program(grad(8192, 1024), grad(8192, 1024))
def dropout_residual(x, residual):
    """dropout before a residual"""
    return residual + F.dropout(x, 0.1)


@program(grad(4, 16, 1024, 64), rand(1024, 64), rand(1024, 64))
def rotary(x, cos, sin):
    """rotary embedding: halves that change places"""
    first, second = x.chunk(2, -1)
    return x * cos + torch.cat((-second, first), -1) * sin


@program(grad(4096, 1024), grad(1024, 2816), grad(1024, 2816), grad(2816, 1024))
def swiglu(x, gate, up, down):
    """the gated feed-forward of Llama between matrix products"""
    return (F.silu(x @ gate) * (x @ up)) @ down


@program(grad(8, 12, 512, 64), grad(8, 12, 512, 64), grad(8, 12, 512, 64), rand(512, 512) > 0.5)
def attention(q, k, v, mask):
    """attention written out: scale, mask and softmax between matrix products"""
    scores = q @ k.transpose(-2, -1) / 8
    return scores.masked_fill(mask, float("-inf")).softmax(-1) @ v


@program(grad(8, 12, 512, 512), ones(512, 512).tril().bool())
def causal_softmax_dropout(scores, mask):
    """causal mask, softmax and dropout of attention scores"""
    return F.dropout(torch.where(mask, scores, -1e9).softmax(-1), 0.1)


@program(grad(4096, 768), grad(768), grad(768), grad(3072, 768), grad(3072), grad(768, 3072), grad(768))
def transformer_mlp(x, weight, bias, w1, b1, w2, b2):
    """layer norm, linear, GELU, linear, residual: gradients of biases are column sums"""
    hidden = F.gelu(F.linear(F.layer_norm(x, (768,), weight, bias), w1, b1))
    return x + F.linear(hidden, w2, b2)


@program(grad(4096, 768), grad(768, 768), grad(768))
def linear_relu(x, weight, bias):
    """a bias and a ReLU beside a matrix product"""
    return F.relu(x @ weight + bias)


@program(grad(8, 512, 2304))
def split_heads(qkv):
    """one projection as queries, keys and values by heads"""
    q, k, v = qkv.split(768, -1)
    shape = lambda t: t.view(8, 512, 12, 64).transpose(1, 2).contiguous()  # noqa: E731
    return shape(q) * 0.125, shape(k), shape(v)


@program(grad(64, 256, 28, 28), grad(64, 128, 28, 28))
def concat_relu(x, y):
    """a concatenation that is read once"""
    return F.relu(torch.cat((x, y), 1))


@program(grad(32, 64, 56, 56))
def pad_slice(x):
    """padding, and a window of it"""
    return F.pad(x * 2, (1, 1, 1, 1))[:, :, 1:, 1:].sigmoid()


@program(grad(2048, 4096), grad(4096, 2048))
def transposed_add(x, y):
    """a transposed operand"""
    return (x.t() + y).tanh()


@program(grad(8, 12, 512, 64), grad(768))
def merge_heads(x, bias):
    """heads beside each other again"""
    return x.transpose(1, 2).reshape(8, 512, 768) + bias


@program(ids(30522, 32, 512), grad(30522, 768), grad(512, 768), grad(768), grad(768))
def embeddings(tokens, words, positions, weight, bias):
    """rows of a table, positions and a layer norm"""
    return F.layer_norm(words[tokens] + positions, (768,), weight, bias)


@program(ids(30522, 16, 512), grad(30522, 768))
def embedding_padding(tokens, words):
    """an embedding whose gradient leaves a row out"""
    return F.embedding(tokens, words, padding_idx=0) * 27.7


@program(rand(8192, 1024), rand(8192, 1024))
def column_sums(x, y):
    """sums over rows: the gradient of a bias and of a scale"""
    return x.sum(0), (x * y).sum(0)


@program(rand(8192, 1024))
def many_reductions(x):
    """several reductions over one read"""
    return x.sum(1), x.amax(1), (x * x).mean(1), x.argmin(1)


@program(rand(4096, 4096))
def standardise(x):
    """mean and variance of everything"""
    return (x - x.mean()) / (x.std() + 1e-5)


@program(grad(4096, 1024))
def variance(x):
    """the variance of rows"""
    return x.var(1)


@program(grad(512, 4096), rand(512, 4096) > 0.5)
def masked_cumsum(x, mask):
    """a running sum between pointwise code"""
    return (x * mask).cumsum(1) * 0.5


@program(grad(32, 64, 112, 112))
def relu_max_pool(x):
    """a ReLU and the maxima of windows"""
    return F.max_pool2d(F.relu(x), 3, 2, 1)


@program(grad(32, 512, 7, 7))
def relu_global_pool(x):
    """a ReLU and the means of channels"""
    return F.adaptive_avg_pool2d(F.relu(x), 1).flatten(1)


@program(grad(8, 64, 32, 32), grad(8, 32, 64, 64), grad(32, 96, 3, 3), grad(32))
def upsample_concat_conv(x, skip, weight, bias):
    """a U-Net's way up: upsampling, concatenation, convolution, ReLU"""
    wide = torch.cat((F.interpolate(x, scale_factor=2.0), skip), 1)
    return F.relu(F.conv2d(wide, weight, bias, padding=1))


@program(grad(8, 16, 64, 64))
def upsample_bilinear(x):
    """bilinear upsampling of probabilities"""
    return F.interpolate(x.sigmoid(), scale_factor=2.0, mode="bilinear")


def _parameters():
    return [rand(768, 768), rand(768), rand(3072, 768), rand(3072)]


@program(_parameters(), _parameters(), _parameters(), _parameters(), rand(()))
def adamw_foreach(parameters, gradients, averages, squares, rate):
    """AdamW over a list of parameters, in place"""
    torch._foreach_mul_(parameters, 1 - 1e-4)
    torch._foreach_lerp_(averages, gradients, 0.1)
    torch._foreach_mul_(squares, 0.999)
    torch._foreach_addcmul_(squares, gradients, gradients, 0.001)
    roots = torch._foreach_sqrt(squares)
    torch._foreach_add_(roots, 1e-8)
    steps = torch._foreach_div(averages, roots)
    torch._foreach_mul_(steps, rate)
    torch._foreach_sub_(parameters, steps)


@program(_parameters(), _parameters(), _parameters())
def sgd_momentum_foreach(parameters, gradients, momenta):
    """SGD with momentum and weight decay over a list of parameters, in place"""
    gradients = torch._foreach_add(gradients, parameters, alpha=1e-4)
    torch._foreach_mul_(momenta, 0.9)
    torch._foreach_add_(momenta, gradients)
    torch._foreach_add_(parameters, momenta, alpha=-0.1)


@program(_parameters())
def clip_gradients(gradients):
    """the norm of all gradients, and their scaling, in place"""
    norm = torch.stack(torch._foreach_norm(gradients)).norm()
    torch._foreach_mul_(gradients, (1.0 / (norm + 1e-6)).clamp(max=1.0))
    return norm


@program(grad(4096, 1024, dtype=bfloat16), grad(1024), grad(1024))
def layer_norm_mixed(x, weight, bias):
    """layer norm in float32 between bfloat16 values"""
    return F.gelu(F.layer_norm(x.float(), (1024,), weight, bias).to(bfloat16))


@program(grad(64, 2048), grad(64, 2048), grad(64, 512))
def lstm_cell(from_input, from_hidden, cell):
    """the pointwise part of an LSTM cell"""
    i, f, g, o = (from_input + from_hidden).chunk(4, 1)
    new = f.sigmoid() * cell + i.sigmoid() * g.tanh()
    return o.sigmoid() * new.tanh(), new


@program(grad(4096, 1024), rand(4096, 1024))
def mse(x, y):
    """mean squared error"""
    return F.mse_loss(x, y)


@program(grad(4096, 1024), rand(4096, 1024))
def kl_divergence(x, y):
    """KL divergence from logits to probabilities"""
    return F.kl_div(x.log_softmax(-1), y, reduction="batchmean")


@program(grad(4096, 1024), rand(4096, 1024))
def bce_with_logits(x, y):
    """binary cross entropy of logits"""
    return F.binary_cross_entropy_with_logits(x, y)


@program(grad(4096, 1024), rand(4096, 1024))
def huber(x, y):
    """Huber's loss"""
    return F.huber_loss(x, y)


@program(grad(16, 1, 256, 256), rand(16, 1, 256, 256))
def dice(x, y):
    """dice loss: three sums over one read"""
    p = x.sigmoid()
    return 1 - (2 * (p * y).sum() + 1) / (p.sum() + y.sum() + 1)


@program(rand(4096, 1024), rand(4096, 1024))
def argmax_gather(scores, values):
    """the value where a score is largest"""
    return values.gather(1, scores.argmax(1, keepdim=True)).squeeze(1)


@program(ids(1000, 4096), rand(4096, 1000))
def one_hot(labels, x):
    """a one-hot matrix that need not be made"""
    return (F.one_hot(labels, 1000) * x).sum(1)


@program(rand(4096, 4096))
def where_chain(x):
    """conditions and clamps"""
    y = torch.where(x > 0.5, x * 2, x.neg())
    y = y.masked_fill(y.isnan(), 0).clamp(-1, 1)
    return torch.where((y > -0.5) & (y < 0.5), torch.zeros_like(y), y)


@program(ids(1000, 256))
def time_embedding(steps):
    """sines and cosines of a time step: nothing is read but the steps"""
    frequencies = torch.exp(-9.21 * torch.arange(160) / 160)
    angles = steps[:, None].float() * frequencies
    return torch.cat((angles.cos(), angles.sin()), -1)


@program(grad(4096, 64))
def gating(x):
    """a router: softmax, the largest two, their weights"""
    weights, experts = x.softmax(-1).topk(2, -1)
    return weights / weights.sum(-1, keepdim=True), experts


@program(grad(8, 64, 32, 32), grad(128, 64, 3, 3), grad(128), grad(128), torch.zeros(128), ones(128))
def conv_batch_norm_relu(x, kernel, weight, bias, mean, variance):
    """convolution, batch norm that trains, ReLU"""
    return F.relu(F.batch_norm(F.conv2d(x, kernel, padding=1), mean, variance, weight, bias, True))


@program(rand(4096, 1024), rand(4096, 1))
def fake_quantise(x, scale):
    """round to eight bits and back"""
    return (x / scale).round().clamp(-128, 127).to(torch.int8).float() * scale


@program(randn(4096, 1024), ids(64, 4096), torch.zeros(64, 1024))
def segment_sum(x, segments, sums):
    """sums of rows by segment"""
    return sums.index_add(0, segments, x * 2)


def main(pattern=""):
    chosen = [(f, samples) for f, samples in PROGRAMS if re.search(pattern, f.__name__)]
    for (function, _), call in zip(chosen, torchdyn.compile_calls(chosen)):
        if call.eager_reason:
            sys.exit(f"{function.__name__}: {call.eager_reason}")
        path = GOLDENS / f"{function.__name__}.txt"
        graphs = "\n".join(graph["text"] for graph in call.graphs)
        path.write_text(f"# {function.__doc__}\nstage: schedule\n--- graphs\n{graphs}--- expect\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
