"""Runs rows of the database: a JSON object a row into a file.

    run_rows(rows, 20, open("out.jsonl", "w"))
"""
import json
import zlib

import torch

import torchdyn
from cases import cases_of
from compare import difference

BATCH = 200  # cases whose kernels are built together


def chosen(case, every):
    """A share of the cases, the same on every run; a row's first one always."""
    key = f"{case.row}{case.index}".encode()
    return case.index == 0 or zlib.crc32(key) % every == 0


def check(cases):
    """[(case, problem, fused)] of a batch. fused: no extern call."""
    compiled = torchdyn.compile_calls([(c.function, c.args) for c in cases])
    for case, call in zip(cases, compiled):
        if call.eager_reason and not case.raises:
            yield case, "eager: " + call.eager_reason, False
            continue
        externs = [name for graph in call.graphs for name in graph["extern_calls"]]
        yield case, difference(case, call), not externs


def run_rows(rows, every, out):
    """Writes {"started": row} before a row is touched, and its record when its batch is done."""
    torch.set_num_threads(1)
    pending, records = [], {}

    def write(message):
        print(json.dumps(message), file=out, flush=True)

    def flush():
        for case, problem, fused in check(pending):
            record = records[case.row]
            record["cases"] += 1
            record["passed"] += not problem
            record["fused"] += fused and not problem and not case.raises
            if problem:
                record["problems"].append([case.index, problem])
        pending.clear()
        for record in records.values():
            write(record)
        records.clear()

    for row in rows:
        write({"started": str(row)})
        records[row] = {"row": str(row), "cases": 0, "passed": 0, "fused": 0, "problems": []}
        pending += [case for case in cases_of(row) if chosen(case, every)]
        if len(pending) >= BATCH:
            flush()
    flush()
