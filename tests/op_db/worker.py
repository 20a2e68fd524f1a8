"""Runs rows of the database: a JSON object a row into a file.

    run_rows(rows, 20, set(), open("out.jsonl", "w"))
"""
import json
import re
import zlib

import torch

import torchdyn
from cases import cases_of
from compare import difference, eager_raises

BATCH = 200  # cases whose kernels are built together


def chosen(case, every):
    """A share of the cases, the same on every run; a row's first one always."""
    key = f"{case.row}{case.index}".encode()
    return case.index == 0 or zlib.crc32(key) % every == 0


def operators_in(text):
    return set(re.findall(r"aten::\w+(?:\.\w+)?", text))


def operators_of(call):
    """Those of its graphs, and those that a kernel's origins name: decompositions."""
    return operators_in(json.dumps(call.graphs))


def check(cases):
    """[(case, problem, fused, operators)] of a batch. fused: no extern call."""
    compiled = torchdyn.compile_calls([(c.function, c.args) for c in cases])
    for case, call in zip(cases, compiled):
        if call.eager_reason:
            # Right where eager itself raises: the call raises the same.
            problem = "" if eager_raises(case) else "eager: " + call.eager_reason
            yield case, problem, False, operators_in(call.eager_reason)
            continue
        externs = [name for graph in call.graphs for name in graph["extern_calls"]]
        yield case, difference(case, call), not externs, operators_of(call)


def run_rows(rows, every, always, out):
    """The chosen share of each row's cases and those of `always`, (row, index) each.

    Writes {"started": row} before a row is touched, and its record when its batch is done."""
    torch.set_num_threads(1)
    pending, records = [], {}

    def write(message):
        print(json.dumps(message), file=out, flush=True)

    def flush():
        for case, problem, fused, operators in check(pending):
            record = records[case.row]
            record["cases"] += 1
            record["passed"] += not problem
            record["operators"] = sorted(operators | set(record["operators"]))
            record["fused"] += fused and not problem and not case.raises
            if problem:
                record["problems"].append([case.index, problem])
        pending.clear()
        for record in records.values():
            write(record)
        records.clear()

    for row in rows:
        write({"started": str(row)})
        records[row] = {"row": str(row), "cases": 0, "passed": 0, "fused": 0, "problems": [],
                        "operators": []}
        pending += [case for case in cases_of(row)
                    if chosen(case, every) or (f"{row.op} {row.dtype}", case.index) in always]
        if len(pending) >= BATCH:
            flush()
    flush()
