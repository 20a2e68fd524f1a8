"""Runs rows of the database: a JSON object a row into a file.

    run_rows(rows, 20, set(), "default", "out.jsonl")
"""
import functools
import json
import math
import re
import zlib

import torch

import dynamo
import torchdyn
from cases import cases_of
from compare import Comparison
from outcome import Outcome

BATCH = 200  # cases whose kernels are built together
# A row may be this much further from float64 than eager, on average of at least so many cases.
RATIO, RATIO_CASES = 1.5, 8


def chosen(case, every, how):
    """A share of the cases, the same on every run; a row's first one always, but for torch.compile,
    where a case takes a second."""
    key = f"{case.row}{case.index}".encode()
    return (case.index == 0 and how != "torch.compile") or zlib.crc32(key) % every == 0


def operators_in(text):
    return set(re.findall(r"aten::\w+(?:\.\w+)?", text))


def operators_of(graphs):
    """Those of graphs, and those that a kernel's origins name: decompositions."""
    return operators_in(json.dumps(graphs))


@functools.cache
def summing():
    """Operators whose kernels may add in another order than eager."""
    rows = (line.split() for line in torchdyn._C.operators_text().splitlines())
    return {row[1] for row in rows if row and row[-1] in ("reduction", "scatter")}


def has_eagers_bits(call, externs):
    """Whether, under numerics=eager, nothing that the call runs may round otherwise."""
    used = set().union(*(operators_in(graph["text"]) for graph in call.graphs))
    return not (used - externs) & summing()


def check(cases, how):
    """What became of each case of a batch, as the fields of its row's record that it adds to."""
    if how != "torch.compile":
        yield from check_calls(cases, how)
        return
    for case in cases:
        found = dynamo.check(case)
        yield case, {**found, "operators": operators_of(found.pop("graphs"))}


def check_calls(cases, numerics):
    compiled = torchdyn.compile_calls([(c.function, c.args) for c in cases], numerics=numerics)
    for case, call in zip(cases, compiled):
        if call.eager_reason:
            # Right where eager itself raises: the call raises the same.
            raised = Outcome(case.function, case.args).error is not None
            yield case, {"problem": "" if raised else "eager: " + call.eager_reason,
                         "raised": raised, "fused": False, "externs": set(), "ratio": None,
                         "operators": operators_in(call.eager_reason)}
            continue
        externs = {name for graph in call.graphs for name in graph["extern_calls"]}
        bits = (numerics == "eager" and case.row.dtype != "complex64" and
                has_eagers_bits(call, externs))
        comparison = Comparison(case, call, bits)
        rejected = [kernel for graph in call.graphs for kernel in graph["rejected"]]
        problem = "; ".join([comparison.problem] * bool(comparison.problem) + rejected)
        yield case, {"problem": problem, "raised": comparison.eager.error is not None,
                     "fused": not problem and not externs, "externs": externs,
                     "ratio": comparison.ratio(), "operators": operators_of(call.graphs)}


def empty_record(row):
    """passed: of `cases`. fused: of `ran`, those in which eager does not raise, without an extern call.
    log_ratios: the sum of logarithms of `ratios` many ratios (Comparison.ratio)."""
    return {"row": str(row), "cases": 0, "passed": 0, "ran": 0, "fused": 0, "log_ratios": 0.0,
            "ratios": 0, "problems": [], "operators": [], "externs": []}


def add(record, case, found):
    record["cases"] += 1
    record["ran"] += not found["raised"]
    record["passed"] += not found["problem"]
    record["fused"] += found["fused"] and not found["raised"]
    for what in ("operators", "externs"):
        record[what] = sorted(found[what] | set(record[what]))
    if found["problem"]:
        record["problems"].append([case.index, found["problem"]])
    if found["ratio"] is not None:
        record["log_ratios"] += math.log(found["ratio"])
        record["ratios"] += 1


def judge_distance(record):
    if record["ratios"] < RATIO_CASES:
        return
    ratio = math.exp(record["log_ratios"] / record["ratios"])
    if ratio > RATIO:
        record["problems"].append([-1, f"{ratio:.2f} times as far from float64 as eager"])


def run_rows(rows, every, always, how, path):
    """The chosen share of each row's cases and those of `always`, (row, index) each. `how`: the
    numerics, or "torch.compile" for its door.

    Writes {"started": row} before a row is touched, and its record when its batch is done."""
    torch.set_num_threads(1)
    out = open(path, "w", encoding="utf-8")
    pending, records = [], {}

    def write(message):
        print(json.dumps(message), file=out, flush=True)

    def flush():
        for case, found in check(pending, how):
            add(records[case.row], case, found)
        if pending and pending[0].row.device == "cuda":
            torch.cuda.synchronize()  # a GPU that failed fails from then on: the process ends
        pending.clear()
        for record in records.values():
            judge_distance(record)
            write(record)
        records.clear()

    for row in rows:
        write({"started": str(row)})
        records[row] = empty_record(row)
        pending += [case for case in cases_of(row)
                    if chosen(case, every, how) or (str(row), case.index) in always]
        if len(pending) >= BATCH:
            flush()
    flush()
