"""One model's training in one process, in eager or through a backend.

    row = measure("gpt2", "torchdyn", steps=10, device="cuda")
    row["ms"], row["first_s"], row["gib"]
"""
import contextlib
import copy
import fcntl
import gc
import statistics
import time

import torch
from torchdyn.explanation import Watched

from rows import ALL

WARM_UP = 20  # steps after the first one: CUDA graphs are recorded meanwhile
ROUNDS = 2   # of inference, in turns
VENDORS = ("gemm", "cutlass", "cudnn", "sm90_", "sm80_", "flash", "fmha", "nvjet", "xmma", "conv")


class Subject:
    """A copy of the model with its training step, under autocast to bfloat16."""

    def __init__(self, row, model, inputs, backend, channels_last):
        self.row, self.inputs = row, inputs
        self.model = copy.deepcopy(model)
        if channels_last:
            self.model = self.model.to(memory_format=torch.channels_last)
        self.backend = Watched() if backend == "torchdyn" else backend
        self.function = torch.compile(self.model, backend=self.backend) if backend else self.model
        self.device = next(self.model.parameters()).device.type

    def step(self):
        """The loss, and the seconds until it and all gradients are there."""
        start = time.perf_counter()
        self.model.zero_grad(set_to_none=True)
        with torch.autocast(self.device, torch.bfloat16):
            loss = self.row.loss(self.function, self.inputs)
        loss.backward()
        if self.device == "cuda":
            torch.cuda.synchronize()
        return loss.item(), time.perf_counter() - start

    def peak(self):
        """GiB of the device that a training holds at most: the model, what steps need, and what is
        kept between them."""
        if self.device != "cuda":
            return 0.0
        self.model.zero_grad(set_to_none=True)
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
        self.step()
        return torch.cuda.max_memory_reserved() / 2**30

    def replay(self):
        """What our graphs say of their replay as CUDA graphs."""
        if not isinstance(self.backend, Watched):
            return []
        return [variant["replay"] for graph in self.backend.graphs for variant in graph.variants]

    def kernels(self):
        """What `kernels_of` tells of one step."""
        return kernels_of(self.step, self.device)


def kernels_of(call, device):
    """(name, calls, ms), the longest first."""
    if device != "cuda":
        return []
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profile:
        call()
        torch.cuda.synchronize()
    rows = [(event.key, event.count, event.self_device_time_total / 1e3)
            for event in profile.key_averages() if event.self_device_time_total > 0]
    return sorted(rows, key=lambda row: -row[2])


def figures_of(kernels, top):
    """What a record holds of `kernels_of`; `top`: so many by name."""
    return {"launches": sum(count for _, count, _ in kernels),
            "kernel_ms": sum(ms for _, _, ms in kernels),
            "vendor_ms": sum(ms for name, _, ms in kernels if any(v in name for v in VENDORS)),
            "top": kernels[:top]}


@contextlib.contextmanager
def turn(path, kind):
    """Holds the file's lock: shared for those who prepare, exclusive for the one that is timed."""
    with open(path, "a") if path else contextlib.nullcontext() as file:
        if file:
            fcntl.flock(file, kind)
        yield


def measure(name, backend, steps, device, batch=None, channels_last=False, top=0, lock=None):
    """{"ms": of a step (median), "first_s", "dynamo_s", "gib", "losses", "kernels", "launches",
    "vendor_ms": of a step, "replay": what is said of CUDA graphs}; `top`: so many kernels by name
    too. backend: "plain" is eager. Without steps, what first steps tell. Several processes with one
    `lock` make their first steps at once and are timed one after the other."""
    with turn(lock, fcntl.LOCK_SH):
        subject, record = first_steps(name, backend, device, batch, channels_last)
    if not steps:
        return record
    with turn(lock, fcntl.LOCK_EX):
        return record | timed(subject, steps, top, record["losses"])


def first_steps(name, backend, device, batch, channels_last):
    """The subject, and the record so far: its first step's seconds and, as "dynamo_s", those of
    Dynamo over eager's operators in this process, which ran them in eager before."""
    row = ALL[name]
    torch.manual_seed(0)
    model, inputs = row.build().to(device).train(), row.inputs(batch or row.batch, device)
    record = {}
    for key in {"plain": ["plain"]}.get(backend, ["plain", "eager", backend]):
        subject = None
        torch._dynamo.reset()
        forget(device)
        torch.manual_seed(1)
        subject = Subject(row, model, inputs, None if key == "plain" else key, channels_last)
        loss, seconds = subject.step()
        record |= {"losses": [loss], "dynamo_s" if key == "eager" else "first_s": seconds}
        subject.model.zero_grad(set_to_none=True)
    return subject, record


def forget(device):
    """What other subjects left: this one has the device as if it were alone."""
    gc.collect()
    if device == "cuda":
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()


def timed(subject, steps, top, losses):
    losses += [subject.step()[0] for _ in range(WARM_UP)]
    times = [subject.step()[1] for _ in range(2 * steps)]
    return {"ms": statistics.median(times) * 1e3, "gib": subject.peak(), "replay": subject.replay(),
            **figures_of(subject.kernels(), top)}
