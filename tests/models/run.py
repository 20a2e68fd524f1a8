#!/usr/bin/env python3
"""Architectures of transformers, timm and our own through torch.compile, against eager.

  tests/models/run.py                  all of them: losses, outputs and every gradient, and times
  tests/models/run.py --quick          the handful that continuous integration runs, no times
  tests/models/run.py --inductor       Inductor's times beside ours: minutes a model
  tests/models/run.py --models 'bert|t5' --steps 0 --record FILE
  tests/models/run.py --device cuda --autocast

PYTHONPATH names the built package (build/dev/python). Each model has a process of its own. A model
passes where training and inference, with static and dynamic sizes and two batch sizes one after the
other, are as near to float64 as eager in float32 is, and no call of it ran in eager. The exit
status is 0 when all pass, but for those whose row says why they must fail. First steps are with
cold caches, "net" of Dynamo's own capture, Inductor's without its trials of the machine's instruction
sets. Inductor's first steps take a minute each: those of
several models at once (--jobs) fill the caches (--caches) with which a second run times the steps.
"""
import argparse
import json
import math
import multiprocessing
import os
import re
import sys
import tempfile
import time
import warnings
from collections import Counter

warnings.simplefilter("ignore")

TIME_LIMIT = 900  # seconds of a model


def child(name, arguments, results):
    import torch
    import transformers
    from measure import measure

    transformers.logging.set_verbosity_error()
    if not arguments.steps:  # Inductor's kernels are made for a number of threads
        torch.set_num_threads(max(1, os.cpu_count() // arguments.jobs))
    with tempfile.TemporaryDirectory() as cold:
        caches = os.path.join(arguments.caches, name) if arguments.caches else cold
        os.environ |= {"TORCHDYN_CACHE_DIR": caches, "TORCHINDUCTOR_CACHE_DIR": caches}
        try:
            results.send(measure(name, arguments.backend, arguments.inductor, arguments.steps,
                                 arguments.device, arguments.autocast))
        except Exception as error:  # the table tells; the other models go on
            results.send(lost(name, f"{type(error).__name__}: {error}"))


class Child:
    """The process of one model. Importing the packages takes seconds, forking does not."""

    def __init__(self, name, arguments):
        self.name, self.end = name, time.time() + TIME_LIMIT
        self.results, send = multiprocessing.Pipe(duplex=False)
        self.process = multiprocessing.get_context("fork").Process(
            target=child, args=(name, arguments, send))
        self.process.start()
        send.close()

    def record(self):
        """None while it runs."""
        if not self.results.poll():
            if time.time() < self.end:
                return None
            record = lost(self.name, f"took more than {TIME_LIMIT} s")
            self.process.kill()
        else:
            try:
                record = self.results.recv()
            except EOFError:
                record = None
        self.process.join()
        return record or lost(self.name, f"the process ended with {self.process.exitcode}")


def run_models(names, arguments):
    """Yields records as they come."""
    waiting, running = list(names), []
    while waiting or running:
        while waiting and len(running) < arguments.jobs:
            running.append(Child(waiting.pop(0), arguments))
        time.sleep(0.05)
        for one in list(running):
            record = one.record()
            if record is not None:
                running.remove(one)
                yield record


def lost(name, reason):
    return {"model": name, "problems": [reason], "eager_reasons": [], "graphs": 0, "breaks": {}}


def cell(record, key, scale, digits=2):
    return f"{record[key] * scale:.{digits}f}" if key in record else "-"


def net(record, backend):
    """First step without what Dynamo itself takes; what is left of noise is no less than nothing."""
    if f"first_{backend}" not in record:
        return None
    return max(record[f"first_{backend}"] - record["first_eager"], 0.0)


COLUMNS = ("model", "result", "graphs", "breaks", "eager ms", "ours ms", "inductor ms", "eager first s",
           "ours net s", "inductor net s")
LINE = "{:<18}{:<8}{:>7}{:>8}{:>10}{:>9}{:>13}{:>15}{:>12}{:>16}"


def line(record, backend):
    ours, theirs = net(record, backend), net(record, "inductor")
    return LINE.format(
        record["model"], result(record), record["graphs"],
        sum(record["breaks"].values()), cell(record, "step_plain", 1e3),
        cell(record, f"step_{backend}", 1e3), cell(record, "step_inductor", 1e3),
        cell(record, "first_plain", 1), "-" if ours is None else f"{ours:.2f}",
        "-" if theirs is None else f"{theirs:.2f}")


def reasons(record):
    """Why a model is not what eager is, or not compiled; none where it is both."""
    nothing = [] if record["graphs"] or record["problems"] else ["no graph was made"]
    return record["problems"] + [f"ran in eager: {r}" for r in record["eager_reasons"]] + nothing


def result(record):
    expected, why = record["expected"], reasons(record)
    if not expected:
        return "FAILED" if why else "equal"
    return "known" if why and all(expected in reason for reason in why) else "FAILED"


def breaks(record):
    """Dynamo's graph breaks by reason: they lie before the backend."""
    return [f"Dynamo broke {count} times: {reason.splitlines()[0]}"
            for reason, count in record["breaks"].items()]


def geometric_mean(records, numerator, denominator):
    ratios = [r[numerator] / r[denominator] for r in records if numerator in r and denominator in r]
    if not ratios:
        return None
    return math.exp(sum(map(math.log, ratios)) / len(ratios))


def summary(records, backend):
    results = Counter(result(r) for r in records)
    lines = [f"{results['equal']} of {len(records)} models equal eager"
             + (f"; {results['known']} fails as expected" if results["known"] else "")]
    for base, name in (("step_plain", "eager"), ("step_inductor", "Inductor")):
        mean = geometric_mean(records, base, f"step_{backend}")
        if mean is not None:
            lines.append(f"a training step: {mean:.2f} times as fast as {name} (geometric mean)")
    timed = [r for r in records if "gain" in r]
    slower = [f"{r['model']} ({r['gain'][0]:.2f} to {r['gain'][1]:.2f}, Dynamo alone "
              f"{r['gain_dynamo'][0]:.2f} to {r['gain_dynamo'][1]:.2f})"
              for r in timed if r["gain"][1] < 1]
    if timed:
        lines.append(f"slower than eager outside of the 95 % interval: {', '.join(slower) or 'none'}")
    firsts = [(net(r, backend), net(r, "inductor"), r["model"]) for r in records
              if "first_inductor" in r]
    if firsts:
        worst = max(firsts, key=lambda row: row[0] / max(row[1], 1e-9))
        lines.append(f"first step, net: at most {worst[0] / max(worst[1], 1e-9):.3f} of Inductor's "
                     f"({worst[2]})")
    return lines


def parse():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", default="", help="a regular expression")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--inductor", action="store_true")
    parser.add_argument("--backend", default="torchdyn", help="another backend in our place")
    parser.add_argument("--device", default="cpu", help="cuda: on a GPU")
    parser.add_argument("--autocast", action="store_true", help="eager and ours under bfloat16 autocast")
    parser.add_argument("--steps", type=int, help="timed steps; 0 measures no times")
    parser.add_argument("--show", type=int, default=3, help="reasons told of a model")
    parser.add_argument("--jobs", type=int, help="models at once: then only first steps compare")
    parser.add_argument("--caches", help="a folder whose caches are used and kept: no first steps")
    parser.add_argument("--record", help="a file to which a JSON line a model is added")
    arguments = parser.parse_args()
    if arguments.steps is None:
        arguments.steps = 0 if arguments.quick else 20
    if arguments.jobs is None:
        arguments.jobs = 1 if arguments.steps else os.cpu_count()  # times need the machine
    return arguments


def main():
    arguments = parse()
    import measure  # once, slowly: each model's process is a fork
    if arguments.inductor and arguments.device == "cpu":
        from torch._inductor.cpu_vec_isa import valid_vec_isa_list
        valid_vec_isa_list()  # half a minute of trial compilations in each process, else

    rows = [row for row in measure.ROWS.values()
            if re.search(arguments.models, row.name) and (row.quick or not arguments.quick)]
    if not rows:
        sys.exit(f"no model's name matches {arguments.models!r}")
    print(LINE.format(*COLUMNS), flush=True)
    records, start = [], time.time()
    expected = {row.name: row.expected for row in rows}
    for record in run_models(list(expected), arguments):
        record["expected"] = expected[record["model"]]
        records.append(record)
        print(line(record, arguments.backend), flush=True)
        if record["expected"] and not reasons(record):
            print(f"    expected to fail, but does not: {record['expected']}")
        for text in reasons(record)[:arguments.show] + breaks(record):
            print(f"    {text[:200]}", flush=True)
        if arguments.record:
            with open(arguments.record, "a") as file:
                file.write(json.dumps(record) + "\n")
    for text in summary(records, arguments.backend):
        print(text)
    print(f"{time.time() - start:.0f} s", file=sys.stderr)
    sys.exit(any(result(r) == "FAILED" for r in records))


if __name__ == "__main__":
    main()
