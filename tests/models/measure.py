"""What one process finds out about one model: does compiled equal eager, and the time of both.

    record = measure("bert", inductor=False, steps=20)
    record["problems"]      # [] where everything holds
"""
import copy
import math
import statistics
import time

import torch
from torchdyn.explanation import Watched

import language
import vision
import written
from step import differences, run_step

ROWS = {row.name: row for row in [*language.ROWS, *vision.ROWS, *written.ROWS]}
BATCHES = (2, 3)
KINDS = ("training", "inference")
SAMPLES = 5  # of inputs, where one does not satisfy: eager may be near float64 in it by luck


def measure(name, backend="torchdyn", inductor=False, steps=20, device="cpu", autocast=False):
    """A dict: problems, eager_reasons, graphs, breaks (reason -> how often) of the kind of step that
    has most, and where asked for the times in seconds. `autocast`: to bfloat16."""
    torch._dynamo.config.allow_rnn = True  # else Dynamo leaves LSTMs and GRUs to eager
    torch.manual_seed(0)
    task = ROWS[name].build().to(device)
    record = {"model": name, "problems": [], "eager_reasons": [], "breaks": {}, "graphs": 0}
    if steps:  # before anything is in a cache
        record |= _times(task, [None, "eager", backend] + ["inductor"] * inductor, steps, autocast)
    for kind in KINDS:
        for dynamic in (None, True):
            problems, watched = _compared(task, backend, kind, dynamic, autocast)
            record["problems"] += problems + watched.explanation().rejected
            record["eager_reasons"] += watched.explanation().eager_reasons
            record["graphs"] = max(record["graphs"], watched.made)
            record["breaks"] = max(record["breaks"], watched.explanation().graph_breaks,
                                   key=lambda breaks: sum(breaks.values()))
    record["eager_reasons"] = list(dict.fromkeys(record["eager_reasons"]))
    return record


class Counted(Watched):
    """Counts graphs. Another backend may stand in ours' place, as a control."""

    def __init__(self, backend):
        super().__init__()
        self.made = 0
        self.other = None if backend == "torchdyn" else torch._dynamo.lookup_backend(backend)

    def __call__(self, graph_module, example_inputs):
        self.made += 1
        return (self.other or super().__call__)(graph_module, example_inputs)


def _compared(task, backend, kind, dynamic, autocast):
    """(problems of two batch sizes, one after the other, the backend)."""
    torch._dynamo.reset()
    watched = Counted(backend)
    subject = copy.deepcopy(task)
    compiled = torch.compile(subject, backend=watched, dynamic=dynamic)
    train, problems = kind == "training", []

    def steps(batch, sample):
        """What one sample gives: compiled, in eager, in float64."""
        subject.load_state_dict(copy.deepcopy(task.state_dict()))
        eager, precise = copy.deepcopy(task), copy.deepcopy(task).double()
        return (run_step(subject, subject.inputs(batch, sample), compiled, train, autocast),
                run_step(eager, eager.inputs(batch, sample), train=train, autocast=autocast),
                run_step(precise, precise.inputs(batch, sample), train=train))

    for batch in BATCHES:
        made = [steps(batch, 0)]
        if differences(made):
            made += [steps(batch, sample) for sample in range(1, SAMPLES)]
        how = f"{kind}{', dynamic' if dynamic else ''}, batch {batch}: "
        problems += [how + line for line in differences(made)]
    return problems, watched


def _times(task, backends, steps, autocast):
    """First step and, over interleaved rounds, the median step of training; "gain" is eager's over
    ours, "gain_dynamo" over Dynamo's without a compiler, intervals. `backends`: None (eager itself),
    "eager" (Dynamo alone), ours and maybe Inductor."""
    functions, record = {}, {}
    device = next(task.parameters()).device

    def timed(inputs, function):
        start = time.perf_counter()
        with torch.autocast(device.type, torch.bfloat16, enabled=autocast):
            loss, _outputs = function(**inputs)
        loss.backward()
        if device.type == "cuda":
            torch.cuda.synchronize()
        return time.perf_counter() - start

    for backend in ["eager"] + backends:  # Dynamo's first tracing loads modules: it does not count
        torch._dynamo.reset()
        subject = copy.deepcopy(task)
        inputs = subject.inputs(BATCHES[0])
        function = subject if backend is None else torch.compile(subject, backend=backend)
        record[f"first_{backend or 'plain'}"] = timed(inputs, function)
        functions[backend or "plain"] = (inputs, function)
    samples = {backend: [] for backend in functions}
    for round in range(steps + 1):
        for backend, call in functions.items():
            seconds = timed(*call)
            if round:  # the resets above made all but the last be captured again
                samples[backend].append(seconds)
    record |= {f"step_{b}": statistics.median(s) for b, s in samples.items()}
    if steps > 1:
        for key, backend in (("gain", backends[2]), ("gain_dynamo", "eager")):
            record[key] = _interval([p / o for p, o in zip(samples["plain"], samples[backend])])
    return record


def _interval(ratios):
    """Where their median lies at 95 %: between two order statistics."""
    ratios, half = sorted(ratios), len(ratios) / 2
    at = max(0, int(half - 0.98 * math.sqrt(len(ratios))))
    return ratios[at], ratios[-1 - at]
