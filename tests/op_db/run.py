#!/usr/bin/env python3
"""Every operator of PyTorch's database through the compiler, forward and backward, against eager.

  tests/op_db/run.py --every 20             a stratified share, as CI runs it
  tests/op_db/run.py --record FILE          all cases; a second run does what FILE does not hold (record.py)
  tests/op_db/run.py --ops 'softmax|^add$' --dtypes float32 --show 5      what fails, in full

PYTHONPATH names the built package (build/dev/python). Rows (an operator on a dtype) run in worker
processes; one that dies takes its row along, not the run. The exit status is 0 when all failures are
expected (expected.tsv) and all expected failures fail.
"""
import argparse
import collections
import json
import os
import pathlib
import re
import signal
import sys
import tempfile
import time
import traceback
import warnings

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
warnings.simplefilter("ignore")
import cases  # noqa: E402
from cases import Row  # noqa: E402
from expected import Expected  # noqa: E402
from record import Record  # noqa: E402
from worker import run_rows  # noqa: E402

CHUNK = 24  # rows a process
TIME_LIMIT = 600  # seconds of a process


class Child:
    """A forked process that runs rows: importing the database takes seconds, forking does not."""

    def __init__(self, rows, every, always):
        self.rows = rows
        self.out = tempfile.TemporaryFile("w+")
        self.end = time.time() + TIME_LIMIT
        self.pid = os.fork()
        if self.pid == 0:
            try:
                run_rows(rows, every, always, self.out)
                status = 0
            except BaseException:  # noqa: BLE001  told, then the process ends
                traceback.print_exc()
                status = 1
            os._exit(status)

    def ended(self):
        """None while it runs, else why it ended: "" when all is done."""
        pid, status = os.waitpid(self.pid, os.WNOHANG)
        if pid == 0:
            if time.time() < self.end:
                return None
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
            return f"took more than {TIME_LIMIT} s"
        if os.WIFSIGNALED(status):
            return f"ended by {signal.Signals(os.WTERMSIG(status)).name}"
        return "" if status == 0 else "ended with an exception"

    def messages(self):
        self.out.seek(0)
        return [json.loads(line) for line in self.out]


def run(rows, every, always, jobs, record):
    """Adds each row's result to the record. A process that dies is followed by one for each row that was in flight."""
    count = max(1, (len(rows) + CHUNK - 1) // CHUNK)
    waiting = [rows[i::count] for i in range(count)]
    running, progress, records = [], Progress(len(rows)), {}
    while waiting or running:
        while waiting and len(running) < jobs:
            running.append(Child(waiting.pop(0), every, always))
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
    return {"row": str(row), "cases": 1, "passed": 0, "fused": 0, "problems": [[0, why]],
            "operators": []}


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


def print_summary(records, expected):
    """Returns the number of failures that nobody expects."""
    by_dtype = collections.defaultdict(collections.Counter)
    reasons = collections.defaultdict(lambda: [0, set()])
    unexpected = 0
    for record in records.values():
        row = Row(*record["row"].split())
        for count in (by_dtype[row.dtype], by_dtype["all"]):
            count.update({what: record[what] for what in ("cases", "passed", "fused")})
        for _, problem in record["problems"]:
            reason = expected.reason(row, problem)
            unexpected += reason is None
            by_dtype[row.dtype]["expected"] += reason is not None
            by_dtype["all"]["expected"] += reason is not None
            known = reasons["expected: " + reason if reason else reason_of(problem)]
            known[0] += 1
            known[1].add(row.op)
    print(f"{'dtype':<12}{'cases':>8}{'passed':>8}{'share':>9}{'no extern call':>16}{'expected to fail':>18}")
    for dtype, n in by_dtype.items():
        print(f"{dtype:<12}{n['cases']:>8}{n['passed']:>8}{n['passed'] / max(1, n['cases']):>9.2%}"
              f"{n['fused'] / max(1, n['cases']):>16.2%}{n['expected']:>18}")
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
    parser.add_argument("--record", type=pathlib.Path, help="keeps each row's result")
    options = parser.parse_args()

    dtypes = options.dtypes.split(",") if options.dtypes else None
    rows = [row for row in cases.rows(options.device)
            if re.search(options.ops, row.op) and (dtypes is None or row.dtype in dtypes)]
    expected = Expected.read()
    record = Record(options.record)
    rest = [row for row in rows if not record.holds(row)]
    run(rest, options.every, expected.examples(), options.jobs, record)
    records = {str(row): record.rows[str(row)] for row in rows}
    for result in records.values():
        for index, problem in result["problems"][:options.show]:
            print(f"{result['row']}  case {index}: {problem}")
    unexpected = print_summary(records, expected)
    by_row = {" ".join(r["row"].split()[:2]): r for r in records.values()}
    passing = list(expected.passing(by_row))
    for expectation in passing:
        print(f"expected to fail, but does not: {expectation.example}: {expectation.reason}")
    print(f"{sum(r['passed'] for r in records.values())} passed, {unexpected} failed unexpectedly, "
          f"{len(passing)} expected failures passed")
    sys.exit(unexpected > 0 or len(passing) > 0)


if __name__ == "__main__":
    main()
