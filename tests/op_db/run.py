#!/usr/bin/env python3
"""Every operator of PyTorch's database through the compiler, forward and backward, against eager.

  tests/op_db/run.py --every 20             a stratified share, as CI runs it
  tests/op_db/run.py --record FILE          all cases; rows that FILE holds for these tables are kept
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

CHUNK = 24  # rows a process
TIME_LIMIT = 600  # seconds of a process


class Child:
    """A forked process that runs rows: importing the database takes seconds, forking does not."""

    def __init__(self, rows, every):
        self.rows = rows
        self.out = tempfile.TemporaryFile("w+")
        self.end = time.time() + TIME_LIMIT
        self.pid = os.fork()
        if self.pid == 0:
            try:
                from worker import run_rows
                run_rows(rows, every, self.out)
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


def run(rows, every, jobs):
    """{row: record}. A process that dies is followed by one for each row that was in flight."""
    count = max(1, (len(rows) + CHUNK - 1) // CHUNK)
    waiting = [rows[i::count] for i in range(count)]
    records, running, progress = {}, [], Progress(len(rows))
    while waiting or running:
        while waiting and len(running) < jobs:
            running.append(Child(waiting.pop(0), every))
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
            progress.show(records)
    return records


def dead(row, why):
    return {"row": str(row), "cases": 1, "passed": 0, "fused": 0, "problems": [[0, why]]}


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


def print_summary(records):
    by_dtype = collections.defaultdict(lambda: [0, 0, 0])
    reasons = collections.defaultdict(lambda: [0, set()])
    for record in records.values():
        op, dtype, _ = record["row"].split()
        for i, what in enumerate(("cases", "passed", "fused")):
            by_dtype[dtype][i] += record[what]
            by_dtype["all"][i] += record[what]
        for _, problem in record["problems"]:
            reason = reasons[reason_of(problem)]
            reason[0] += 1
            reason[1].add(op)
    print(f"{'dtype':<12}{'cases':>8}{'passed':>8}{'share':>9}{'no extern call':>16}")
    for dtype, (cases, passed, fused) in by_dtype.items():
        print(f"{dtype:<12}{cases:>8}{passed:>8}{passed / max(1, cases):>9.2%}"
              f"{fused / max(1, cases):>16.2%}")
    print("\nfailures  reason")
    for reason, (count, ops) in sorted(reasons.items(), key=lambda item: -item[1][0]):
        print(f"{count:>8}  {reason}  [{', '.join(sorted(ops)[:4])}{', ...' if len(ops) > 4 else ''}]")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--every", type=int, default=1, help="one case of this many")
    parser.add_argument("--ops", default="", help="a pattern of operators' names")
    parser.add_argument("--dtypes", default="", help="comma-separated")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--show", type=int, default=0, help="problems a row that are shown whole")
    parser.add_argument("--record", type=pathlib.Path, help="keeps the result of each row")
    options = parser.parse_args()

    warnings.simplefilter("ignore")
    import cases
    import worker  # noqa: F401  before the forks
    dtypes = options.dtypes.split(",") if options.dtypes else None
    rows = [row for row in cases.rows(options.device)
            if re.search(options.ops, row.op) and (dtypes is None or row.dtype in dtypes)]
    records = run(rows, options.every, options.jobs)
    for record in records.values():
        for index, problem in record["problems"][:options.show]:
            print(f"{record['row']}  case {index}: {problem}")
    if options.record:
        options.record.write_text("".join(json.dumps(r) + "\n" for r in records.values()))
    print_summary(records)


if __name__ == "__main__":
    main()
