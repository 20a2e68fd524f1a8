#!/usr/bin/env python3
"""What do the guards of captured frames cost, and what does a call of what they became?

    PYTHONPATH=build/release/python python3 bench/frames.py [--layers 80]

Budgets: a call of a decoder of 80 layers whose graph costs nothing, which is its guards and inputs,
100 us; a call on 4 elements, 1.5 times eager's. Each figure is the least of several
rounds; what is timed has given eager's values, but for graphs that cost nothing.
"""
import argparse
import gc
import resource
import sys
import time

import torch
from torch import nn

import torchdyn


class Norm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))
        self.eps = 1e-6

    def forward(self, x):
        return self.weight * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps))


class Layer(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.before, self.between = Norm(width), Norm(width)
        for name in ("query", "key", "value", "out", "gate", "up", "down"):
            setattr(self, name, nn.Linear(width, width, bias=False))

    def forward(self, x):
        h = self.before(x)
        attended = nn.functional.scaled_dot_product_attention(
            self.query(h), self.key(h), self.value(h), is_causal=True)
        x = x + self.out(attended)
        h = self.between(x)
        return x + self.down(nn.functional.silu(self.gate(h)) * self.up(h))


class Decoder(nn.Module):
    def __init__(self, width, layers):
        super().__init__()
        self.layers = nn.ModuleList(Layer(width) for _ in range(layers))
        self.norm = Norm(width)

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return self.norm(x)


class Small(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(4))

    def forward(self, x):
        return (x * self.weight).relu()


def least_us(call, rounds=15, calls=300):
    for _ in range(100):
        call()
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        for _ in range(calls):
            call()
        times.append((time.perf_counter() - start) / calls)
    return min(times) * 1e6


def costs_nothing(graph_module, example_inputs):
    result = (torch.zeros(1),)
    return lambda *inputs: result


def deep(layers):
    x = torch.randn(1, 4, 8)
    for count in (0, layers):
        model = Decoder(8, count)
        compiled = torchdyn.compile(model, backend=costs_nothing, fullgraph=True)
        start = time.perf_counter()
        compiled(x)
        capture = time.perf_counter() - start
        us = least_us(lambda: compiled(x))
        guards = len(compiled.capture.events[-1]["guards"])
        print(f"{count:3} layers, {len(list(model.parameters())):4} parameters, {guards:6} guards: "
              f"captured in {capture:.2f} s, a call {us:6.1f} us")


def small():
    functions = {"x + 1": lambda x: x + 1, "(x.relu() + 1) * 2": lambda x: (x.relu() + 1) * 2,
                 "module: (x * weight).relu()": Small(), "module: Linear(4, 4)": nn.Linear(4, 4)}
    x = torch.randn(4)
    for name, function in functions.items():
        compiled = torchdyn.compile(function), torchdyn.compile(function, dynamic=True)
        with torch.no_grad():
            for each in compiled:
                torch.testing.assert_close(each(x), function(x))
            eager, ours, dynamic = (least_us(lambda f=f: f(x), calls=2000) for f in (function, *compiled))
        print(f"4 elements, {name:28} eager {eager:5.2f} us, compiled {ours:5.2f} us, "
              f"{ours / eager:.2f} times; with open sizes {dynamic:5.2f} us, {dynamic / eager:.2f} times")


def steady(calls=100_000):
    model, x = Decoder(8, 2), torch.randn(1, 4, 8)
    compiled = torchdyn.compile(model)
    with torch.no_grad():
        for round in range(2):
            gc.collect()
            references = [sys.getrefcount(p) for p in model.parameters()]
            blocks, peak = sys.getallocatedblocks(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            for _ in range(calls if round else 1000):
                compiled(x)
        gc.collect()
        same = references == [sys.getrefcount(p) for p in model.parameters()]
        print(f"{calls} calls: references {'as before' if same else 'CHANGED'}, Python's blocks "
              f"{sys.getallocatedblocks() - blocks:+}, peak memory "
              f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - peak:+} KiB")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--layers", type=int, default=80)
    options = parser.parse_args()
    torch.set_num_threads(1)
    deep(options.layers)
    small()
    steady()
