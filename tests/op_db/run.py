#!/usr/bin/env python3
"""Every operator of PyTorch's database through the compiler, forward and backward, against eager.

  tests/op_db/run.py --every 20             a stratified share, as CI runs it
  tests/op_db/run.py --record FILE          all cases; a second run does what FILE does not hold (record.py)
  tests/op_db/run.py --door torch.compile --every 100       behind torch.compile instead of alone
  tests/op_db/run.py --ops 'softmax|^add$' --dtypes float32 --show 5      what fails, in full

PYTHONPATH names the built package (build/dev/python). Rows (an operator on a dtype) run in worker
processes; one that dies takes its row along, not the run. The exit status is 0 when all failures are
expected (expected.tsv) and all expected failures fail.
"""
import argparse
import collections
import json
import math
import multiprocessing
import os
import pathlib
import re
import signal
import sys
import tempfile
import time
import warnings

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
warnings.simplefilter("ignore")
import cases  # noqa: E402
from cases import Row  # noqa: E402
from dynamo import BEFORE  # noqa: E402
from expected import Expected  # noqa: E402
from record import Record  # noqa: E402
from worker import empty_record, run_rows  # noqa: E402

CHUNK = 24  # rows a process
TIME_LIMIT = 600  # seconds of a process


class Child:
    """A process that runs rows. Importing the database takes seconds, forking does not; but CUDA does
    not outlive a fork, so there each process is a new one and gets more rows."""

    def __init__(self, rows, every, always, how):
        self.rows = rows
        self.out = tempfile.NamedTemporaryFile("r")
        self.end = time.time() + TIME_LIMIT
        start = "fork" if rows[0].device == "cpu" else "spawn"
        self.process = multiprocessing.get_context(start).Process(
            target=run_rows, args=(rows, every, always, how, self.out.name))
        self.process.start()

    def ended(self):
        """None while it runs, else why it ended: "" when all is done."""
        if self.process.is_alive():
            if time.time() < self.end:
                return None
            self.process.kill()
            self.process.join()
            return f"took more than {TIME_LIMIT} s"
        status = self.process.exitcode
        if status < 0:
            return f"ended by {signal.Signals(-status).name}"
        return "" if status == 0 else "ended with an exception"

    def messages(self):
        return [json.loads(line) for line in self.out]


def run(rows, every, always, how, jobs, record):
    """Adds each row's result to the record. A process that dies is followed by one for each row that was in flight."""
    chunk = CHUNK  # or, where a process starts slowly, a few processes a job
    if rows and rows[0].device != "cpu":
        chunk = max(CHUNK, len(rows) // (2 * jobs))
    elif how == "torch.compile":
        chunk = max(CHUNK, len(rows) // (8 * jobs))
    count = max(1, (len(rows) + chunk - 1) // chunk)
    waiting = [rows[i::count] for i in range(count)]
    running, progress, records = [], Progress(len(rows)), {}
    while waiting or running:
        while waiting and len(running) < jobs:
            running.append(Child(waiting.pop(0), every, always, how))
        time.sleep(0.02)
        for child in list(running):
            why = child.ended()
            if why is None:
                continue
            running.remove(child)
            messages = child.messages()
            done = {m["row"]: m for m in messages if "row" in m}
            if why:
                rest = [row for row in child.rows if str(row) not in done]
                if len(child.rows) == 1:
                    done[str(rest[0])] = dead(rest[0], why)
                else:
                    waiting += [[row] for row in rest]
            records.update(done)
            record.add(done)
            progress.show(records)


def dead(row, why):
    return {**empty_record(row), "cases": 1, "ran": 1, "problems": [[0, why]]}


def reason_of(problem):
    """The kind of a problem: numbers, shapes and names of values left out."""
    text = re.sub(r"\(.*\)", "(...)", problem.splitlines()[0])
    return re.sub(r"[-+]?\d[\d.e+-]*", "N", text)[:110]


class Progress:
    def __init__(self, total):
        self.total, self.start, self.shown = total, time.time(), 0

    def show(self, records):
        if time.time() - self.shown < 5 and len(records) < self.total:
            return
        self.shown = time.time()
        print(f"{len(records)} of {self.total} rows, {sum(r['cases'] for r in records.values())} "
              f"cases, {sum(r['passed'] for r in records.values())} passed, "
              f"{time.time() - self.start:.0f} s", file=sys.stderr, flush=True)


def print_counts(title, groups):
    """A line a group of records: its name and the records."""
    print(f"{title:<12}{'cases':>8}{'passed':>8}{'share':>9}{'no extern call':>16}{'distance':>10}")
    for name, records in groups.items():
        n = collections.Counter()
        for record in records:
            n.update({what: record[what]
                      for what in ("cases", "passed", "ran", "fused", "log_ratios", "ratios")})
        distance = f"{math.exp(n['log_ratios'] / n['ratios']):.2f}" if n["ratios"] else "-"
        print(f"{name:<12}{n['cases']:>8}{n['passed']:>8}{n['passed'] / max(1, n['cases']):>9.2%}"
              f"{n['fused'] / max(1, n['ran']):>16.2%}{distance:>10}")


def print_summary(records, expected):
    """Returns the number of failures that nobody expects."""
    by_dtype, by_kind = collections.defaultdict(list), collections.defaultdict(list)
    reasons = collections.defaultdict(lambda: [0, set()])
    unexpected = 0
    for record in records.values():
        row = Row(*record["row"].split())
        by_dtype[row.dtype].append(record)
        if row.dtype == "float32":
            by_kind[cases.kind_of(row)].append(record)
        for _, problem in record["problems"]:
            reason = expected.reason(row, problem)
            unexpected += reason is None and not problem.startswith(BEFORE)
            known = reasons["expected: " + reason if reason else reason_of(problem)]
            known[0] += 1
            known[1].add(row.op)
    print_counts("dtype", {**by_dtype, "all": list(records.values())})
    print()
    print_counts("float32", by_kind)
    for kind in cases.KINDS:
        calls = sorted((r["fused"] - r["ran"], Row(*r["row"].split()).op) for r in by_kind[kind])
        print(f"{kind}, extern calls: " + ", ".join(f"{op} {-n}" for n, op in calls if n < 0))
    print("\nfailures  reason")
    for reason, (count, ops) in sorted(reasons.items(), key=lambda item: -item[1][0]):
        print(f"{count:>8}  {reason}  [{', '.join(sorted(ops)[:4])}{', ...' if len(ops) > 4 else ''}]")
    return unexpected


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--every", type=int, default=1, help="one case of this many")
    parser.add_argument("--ops", default="", help="a pattern of operators' names")
    parser.add_argument("--dtypes", default="", help="comma-separated")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--show", type=int, default=0, help="problems a row that are shown whole")
    parser.add_argument("--numerics", default="default",
                        help="eager: pointwise results must have eager's bits")
    parser.add_argument("--door", default="calls", choices=("calls", "torch.compile"))
    parser.add_argument("--record", type=pathlib.Path, help="keeps each row's result")
    options = parser.parse_args()
    if options.door != "calls" and options.numerics != "default":
        parser.error("--numerics is of the door \"calls\" alone")
    how = options.numerics if options.door == "calls" else options.door

    dtypes = options.dtypes.split(",") if options.dtypes else None
    rows = [row for row in cases.rows(options.device)
            if re.search(options.ops, row.op) and (dtypes is None or row.dtype in dtypes)]
    expected = Expected.read()
    record = Record(options.record, how)
    rest = [row for row in rows if not record.holds(row)]
    always = expected.examples() if options.door == "calls" else set()
    run(rest, options.every, always, how, options.jobs, record)
    records = {str(row): record.rows[str(row)] for row in rows}
    for result in records.values():
        for index, problem in result["problems"][:options.show]:
            print(f"{result['row']}  case {index}: {problem}")
    unexpected = print_summary(records, expected)
    passing = list(expected.passing(records)) if options.door == "calls" else []
    for expectation in passing:
        print(f"expected to fail, but does not: {expectation.example}: {expectation.reason}")
    print(f"{sum(r['passed'] for r in records.values())} passed, {unexpected} failed unexpectedly, "
          f"{len(passing)} expected failures passed")
    sys.exit(unexpected > 0 or len(passing) > 0)


if __name__ == "__main__":
    main()
