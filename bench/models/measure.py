"""One model in one process: eager and backends in turns.

    record = measure("gpt2", ["torchdyn"], steps=10, device="cuda")
    record["torchdyn"]["ms"], record["eager"]["ms"], record["torchdyn"]["gib"]
"""
import contextlib
import copy
import fcntl
import statistics
import time

import torch

from rows import ALL

WARM_UP = 3  # steps after the first one
ROUNDS = 2   # in turns
VENDORS = ("gemm", "cutlass", "cudnn", "sm90_", "sm80_", "flash", "fmha", "nvjet", "xmma", "conv")


class Subject:
    """A copy of the model with its training step, under autocast to bfloat16."""

    def __init__(self, row, model, inputs, backend, channels_last):
        self.row, self.inputs = row, inputs
        self.model = copy.deepcopy(model)
        if channels_last:
            self.model = self.model.to(memory_format=torch.channels_last)
        self.function = self.model if backend is None else torch.compile(self.model, backend=backend)
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
        """GiB that one step allocates at most, with the model, without what others hold."""
        if self.device != "cuda":
            return 0.0
        self.model.zero_grad(set_to_none=True)
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
        own = sum(t.nbytes for t in [*self.model.parameters(), *self.model.buffers()])
        others = torch.cuda.memory_allocated() - own
        self.step()
        return (torch.cuda.max_memory_allocated() - others) / 2**30

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


def measure(name, backends, steps, device, batch=None, channels_last=False, top=0, lock=None):
    """{"eager": {...}, backend: {...}}: ms a step (median), first_s, gib, losses, kernels, launches and
    vendor_ms of a step; `top`: so many kernels by name too. Without steps, what first steps tell.
    Several processes with one `lock` make their first steps at once and are timed one after the
    other."""
    with turn(lock, fcntl.LOCK_SH):
        subjects, record = first_steps(name, backends, device, batch, channels_last)
    if not steps:
        return record
    with turn(lock, fcntl.LOCK_EX):
        return timed(subjects, record, steps, top)


def first_steps(name, backends, device, batch, channels_last):
    """({backend: Subject}, the record so far)"""
    row = ALL[name]
    torch.manual_seed(0)
    model, inputs = row.build().to(device).train(), row.inputs(batch or row.batch, device)
    subjects, record = {}, {}
    for backend in [None, "eager", *backends]:
        torch._dynamo.reset()
        torch.manual_seed(1)
        subject = Subject(row, model, inputs, backend, channels_last)
        loss, seconds = subject.step()
        key = backend or "plain"
        record[key] = {"first_s": seconds, "losses": [loss]}
        if backend != "eager":  # that one tells what Dynamo itself takes
            subjects[key] = subject
        subject.model.zero_grad(set_to_none=True)
    if device == "cuda":
        torch.cuda.empty_cache()
    return subjects, record


def timed(subjects, record, steps, top):
    for key, subject in subjects.items():  # a reset made all but the last be captured again
        for _ in range(WARM_UP):
            record[key]["losses"].append(subject.step()[0])
    times = {key: [] for key in subjects}
    for _ in range(ROUNDS):
        for key, subject in subjects.items():
            subject.step()  # as in a training loop, not as after another's step
            times[key] += [subject.step()[1] for _ in range(steps)]
    for key, subject in subjects.items():
        figures = figures_of(subject.kernels(), top)
        record[key] |= {"ms": statistics.median(times[key]) * 1e3, "gib": subject.peak(), **figures}
    return record
