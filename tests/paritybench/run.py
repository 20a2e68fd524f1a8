#!/usr/bin/env python3
"""Modules that nobody here wrote, through our own capture of frames, beside torch.compile's.

    PYTHONPATH=build/dev/python python tests/paritybench/run.py CHECKOUT --every 40
    PYTHONPATH=build/dev/python python tests/paritybench/run.py CHECKOUT --files resnet --show 10
    PYTHONPATH=build/dev/python python tests/paritybench/run.py CHECKOUT --record FILE --jobs 16

CHECKOUT is one of pytorch-jit-paritybench; the first half of its files is used. Each module runs forward
and backward in eager, through Dynamo and through our capture, whose graphs run as they are; of every
tenth of these files also through our compiler. A file has a process of its own: what crashes or hangs there is
that module's result, and the rest of the file goes on in another one. Exit status 1: something of ours
crashed, hung, raised what eager does not, or gave another result.
"""
import argparse
import collections
import json
import multiprocessing
import os
import re
import signal
import sys
import time
import warnings

import torch

from attempt import attempt, doors
from corpus import cases, files, prepare

TIME_LIMIT = 120  # seconds of a module behind one door, or of a file's import
COMPILED_EVERY = 10  # files


def run_file(path, with_compiler, first, out):
    """In a process of its own: a message before each run of a module, and one with its record at the end."""
    torch.set_num_threads(1)
    devnull = os.open(os.devnull, os.O_WRONLY)
    os.dup2(devnull, 1)
    os.dup2(devnull, 2)
    try:
        found = cases(path)
    except BaseException as error:
        out.send({"import": f"{type(error).__name__}: {str(error)[:80]}"})
        return
    for number, case in enumerate(found[first:], first):
        def begin(door, name=case.name, number=number):
            out.send({"begin": name, "number": number, "door": door})
        out.send({"module": case.name, **attempt(case, doors(with_compiler), begin)})
    out.send({"end": len(found)})


class Child:
    def __init__(self, path, with_compiler, first=0):
        self.path, self.with_compiler, self.first = path, with_compiler, first
        self.source, out = multiprocessing.Pipe(False)
        self.process = multiprocessing.get_context("fork").Process(
            target=run_file, args=(path, with_compiler, first, out))
        self.process.start()
        out.close()
        self.began, self.current, self.ended = time.time(), None, False

    def poll(self):
        """Records that came in; sets `ended`, and `current` is what a dead process was at."""
        records = []
        try:
            while self.source.poll():
                message = self.source.recv()
                if "begin" in message:
                    self.current, self.began = message, time.time()
                elif "module" in message:
                    self.current = None
                    records.append(message)
                else:
                    self.ended = True
                    if "import" in message:
                        records.append({"module": self.path.stem, "not_imported": message["import"]})
        except EOFError:
            self.ended = True
        why = ""
        if not self.ended and time.time() - self.began > TIME_LIMIT:
            self.process.kill()
            self.ended, why = True, "hangs"
        if self.ended:
            self.process.join()
            if self.current is not None:
                code = self.process.exitcode
                why = why or (f"dies by {signal.Signals(-code).name}" if code < 0 else f"exits with {code}")
                at = self.current["door"]
                eager = why if at == "eager" else ""
                records.append({"module": self.current["begin"], "eager": eager}
                               | ({} if eager else {"dead": f"{why} ({at})"}))
        return records

    def rest(self):
        """What is left of the file after a module that took its process along."""
        if self.current is None:
            return None
        return Child(self.path, self.with_compiler, self.current["number"] + 1)


def run(chosen, jobs, add):
    waiting, running = list(chosen), []
    while waiting or running:
        while waiting and len(running) < jobs:
            running.append(Child(*waiting.pop(0)))
        time.sleep(0.02)
        for child in list(running):
            for record in child.poll():
                add(record)
            if child.ended:
                running.remove(child)
                if rest := child.rest():
                    running.append(rest)


def kind(reason):
    """Without names and numbers."""
    return re.sub(r"\d+", "N", re.sub(r" \([\w<>.]+:\d+\)$", "", reason))[:110]


def is_whole(row):
    return row.get("graphs", 0) == 1 and not row["breaks"] and not row["problem"]


def summary(records, show):
    ran = [r for r in records if r.get("eager") == "" and "dead" not in r]
    dead = [r for r in records if "dead" in r]
    imported = [r for r in records if "not_imported" not in r]
    print(f"{len(records) - len(imported)} files cannot be imported; of {len(imported)} modules "
          f"{len(ran) + len(dead)} run in eager, the same twice")
    wrong = [r for r in ran for door in ("ours", "compiled") if r.get(door, {}).get("problem")]
    print(f"{'':10}{'whole':>8}{'operators':>11}{'none':>6}{'wrong':>7}{'seconds':>9}")
    for door in ("dynamo", "ours", "compiled"):
        rows = [r[door] for r in ran if door in r]
        if not rows:
            continue
        known = [row for row in rows if "graphs" in row]
        print(f"{door:10}{sum(map(is_whole, known)):>8}{sum(row['calls'] for row in known):>11}"
              f"{sum(row['graphs'] == 0 for row in known):>6}{sum(bool(row['problem']) for row in rows):>7}"
              f"{sum(row.get('seconds', 0) for row in rows):>9.0f}")
    both = [r for r in ran if "graphs" in r["dynamo"] and "graphs" in r["ours"]]
    only = [r for r in both if is_whole(r["dynamo"]) and not is_whole(r["ours"])]
    print(f"whole in Dynamo alone: {len(only)}; in ours alone: "
          f"{sum(is_whole(r['ours']) and not is_whole(r['dynamo']) for r in both)}; graphs in Dynamo and none "
          f"in ours: {sum(bool(r['dynamo']['graphs']) and not r['ours']['graphs'] for r in both)}")
    reasons = collections.defaultdict(list)
    for r in only:
        for reason in {kind(reason) for reason in r["ours"]["breaks"][:1]}:
            reasons[reason].append(r["module"])
    for reason, names in sorted(reasons.items(), key=lambda row: -len(row[1]))[:show]:
        print(f"{len(names):5} {reason}   {names[0]}")
    for r in dead:
        print(f"DEAD  {r['module']}: {r['dead']}")
    for r in wrong[:show]:
        for door in ("ours", "compiled"):
            if problem := r.get(door, {}).get("problem"):
                print(f"WRONG {r['module']} ({door}): {problem[:150]}"
                      f"{'; Dynamo too' if r['dynamo']['problem'] else ''}")
    lost = len(dead) + sum(not r["dynamo"]["problem"] for r in wrong)
    print(f"{len(ran)} modules compared, {len(dead)} dead, {len(wrong)} wrong")
    return lost


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkout")
    parser.add_argument("--every", type=int, default=1, help="of so many files one")
    parser.add_argument("--files", default="", help="a regular expression")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--show", type=int, default=25, help="reasons, and wrong results")
    parser.add_argument("--record", help="a file to which a JSON line a module is added")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    prepare(arguments.checkout)
    paths = [path for path in files(arguments.checkout) if re.search(arguments.files, path.stem)]
    chosen = [(path, number % COMPILED_EVERY == 0) for number, path in enumerate(paths[::arguments.every])]
    records, shown = [], time.time()

    def add(record):
        nonlocal shown
        records.append(record)
        if arguments.record:
            with open(arguments.record, "a") as file:
                file.write(json.dumps(record) + "\n")
        if time.time() - shown > 10:
            shown = time.time()
            print(f"{len(records)} modules, at {record['module']}", file=sys.stderr, flush=True)

    run(chosen, arguments.jobs, add)
    return bool(summary(records, arguments.show))


if __name__ == "__main__":
    sys.exit(main())
