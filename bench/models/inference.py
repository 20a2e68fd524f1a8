"""One model's inference in one process: eager and backends in turns, at several batches.

    records = measure_inference("gpt2", ["torchdyn"], calls=10, device="cuda", batches=[16, 1])
    records["1"]["torchdyn"]["ms"], records["1"]["torchdyn"]["row_ms"]
"""
import fcntl
import statistics
import time

import torch

from measure import ROUNDS, figures_of, kernels_of, turn
from rows import ALL

WARM_UP = 4   # calls after the first one: Inductor's are a run, a recording and replays
IN_A_ROW = 20  # calls that one synchronisation ends

# What torch.compile takes; sizes stay as they are.
COMPILERS = {
    "eager": {"backend": "eager"},  # tells what Dynamo itself takes
    "torchdyn": {"backend": "torchdyn"},
    "inductor": {"backend": "inductor", "mode": "reduce-overhead"},
}


class Subject:
    """The model as a compiler makes it, with inputs; bfloat16 by autocast, without gradients."""

    def __init__(self, row, model, inputs, compiler):
        self.row, self.inputs = row, inputs
        self.device = next(model.parameters()).device.type
        self.function = model
        if compiler:
            self.function = torch.compile(model, dynamic=False, **COMPILERS[compiler])
        self.overwrites = COMPILERS.get(compiler, {}).get("mode") == "reduce-overhead"

    def call(self):
        if self.overwrites:  # what an earlier call returned
            torch.compiler.cudagraph_mark_step_begin()
        with torch.no_grad(), torch.autocast(self.device, torch.bfloat16):
            return self.row.logits(self.function, self.inputs)

    def seconds(self, calls=1):
        """Until so many calls have been worked off."""
        start = time.perf_counter()
        for _ in range(calls):
            self.call()
        self.finish()
        return time.perf_counter() - start

    def finish(self):
        if self.device == "cuda":
            torch.cuda.synchronize()


def measure_inference(name, backends, calls, device, batches, channels_last=False, top=0,
                      lock=None):
    """{batch: {"plain": {...}, "eager": {"first_s"}, backend: {...}}} with ms a call: `ms` of calls
    that are waited for (median), `row_ms` of calls in a row; `apart`, the root mean square of the
    logits' distance from eager's over theirs; first_s, and kernels as of a training step. `lock`:
    see `measure`."""
    with turn(lock, fcntl.LOCK_SH):
        torch.manual_seed(0)
        model = ALL[name].build().to(device).eval()
        if channels_last:
            model = model.to(memory_format=torch.channels_last)
        prepared = {str(batch): first_calls(ALL[name], model, batch, backends, device)
                    for batch in dict.fromkeys(batches)}
    with turn(lock, fcntl.LOCK_EX):
        return {batch: timed(*first, calls, top) for batch, first in prepared.items()}


def first_calls(row, model, batch, backends, device):
    """({backend: Subject}, the record so far)"""
    inputs = row.inputs(batch, device)
    subjects, record, expected = {}, {}, None
    for compiler in [None, "eager", *backends]:
        torch._dynamo.reset()
        subject = Subject(row, model, inputs, compiler)
        start = time.perf_counter()
        logits = subject.call()
        subject.finish()
        key = compiler or "plain"
        record[key] = {"first_s": time.perf_counter() - start}
        if compiler != "eager":
            subjects[key] = subject
            expected = logits if expected is None else expected
            record[key]["apart"] = apart(logits, expected)
    return subjects, record


def apart(got, expected):
    return ((got.float() - expected.float()).norm() / expected.float().norm()).item()


def timed(subjects, record, calls, top):
    torch._dynamo.reset()  # all are captured again, for this batch alone
    for subject in subjects.values():
        for _ in range(WARM_UP):
            subject.seconds()
    single, in_a_row = ({key: [] for key in subjects} for _ in range(2))
    for _ in range(ROUNDS):
        for key, subject in subjects.items():
            subject.seconds()  # as after its own call, not as after another's
            single[key] += [subject.seconds() for _ in range(calls)]
            in_a_row[key].append(subject.seconds(IN_A_ROW) / IN_A_ROW)
    for key, subject in subjects.items():
        record[key] |= {"ms": statistics.median(single[key]) * 1e3,
                        "row_ms": statistics.median(in_a_row[key]) * 1e3,
                        **figures_of(kernels_of(subject.call, subject.device), top)}
    return record
