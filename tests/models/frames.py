#!/usr/bin/env python3
"""The models of this folder through our own capture of frames, with a backend that runs graphs as they are.

    PYTHONPATH=build/dev/python python tests/models/frames.py [NAME...] [--verbose]

A row a model: whether a training step and one without gradients are eager's, how many graphs there are, how
many frames were captured whole, cut, or left as they are; then the reasons of cuts, by how many models have them.
"""
import argparse
import collections
import re
import sys
import time

import torch

from apart import apart
from measure import ROWS
from step import run_step
from torchdyn import frames


class Counting:
    def __init__(self):
        self.graphs = self.calls = 0

    def __call__(self, graph_module, example_inputs):
        self.graphs += 1
        self.calls += sum(n.op.startswith("call_") for n in graph_module.graph.nodes)
        return graph_module.forward


def attempt(name):
    # Programs that ask for it compute otherwise when they are compiled: here they do so in eager, too.
    torch.compiler._is_compiling_flag = True
    torch.manual_seed(0)
    task = ROWS[name].build()
    inputs, record = task.inputs(2), {"model": name, "problems": []}
    backend = Counting()
    compiled = frames.compile(task, backend)
    for train in (True, False):
        started = [time.process_time()]
        for _ in range(2):
            state = {key: value.clone() for key, value in task.state_dict().items()}
            torch.manual_seed(1)
            actual = run_step(task, inputs, compiled, train)
            started.append(time.process_time())
            task.load_state_dict(state)
            torch.manual_seed(1)
            expected = run_step(task, inputs, None, train)
            record["problems"] += [key for key, value in expected.values.items()
                                   if not torch.equal(actual.values[key], value)]
        record.setdefault("first_s", started[1] - started[0])
    events = compiled.capture.events
    record |= {"graphs": backend.graphs, "calls": backend.calls,
               "whole": sum(not e["reason"] for e in events),
               "cut": sum(e["is_cut"] for e in events),
               "as_is": sum(bool(e["reason"]) and not e["is_cut"] for e in events),
               "guards": max((len(e["guards"]) for e in events), default=0),
               "reasons": [(e["reason"], e["is_cut"], e["function"], e["line"]) for e in events if e["reason"]]}
    return record


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", choices=[*ROWS, []])
    parser.add_argument("--verbose", action="store_true", help="each reason with its place")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    models = collections.defaultdict(set)
    whole = failed = 0
    for name in arguments.names or ROWS:
        record = apart(attempt, name)
        if "error" in record:
            failed += 1
            print(f"{name:18} FAILED {record['error']}", flush=True)
            continue
        failed += bool(record["problems"])
        whole += record["graphs"] == 2 and not record["cut"]
        print(f"{name:18} {record['graphs']:4} graphs {record['calls']:5} calls {record['whole']:3} whole "
              f"{record['cut']:3} cut {record['as_is']:3} as is {record['guards']:6} guards "
              f"{record['first_s']:6.2f} s {' '.join(record['problems'][:4])}", flush=True)
        for reason, is_cut, function, line in record["reasons"]:
            models[("cut   " if is_cut else "as is ") + re.sub(r" \(in .*\)", "", reason)].add(name)
            if arguments.verbose:
                print(f"    {'cut' if is_cut else 'as is'} {function}:{line}: {reason}")
    for reason, names in sorted(models.items(), key=lambda row: -len(row[1]))[:40]:
        print(f"{len(names):4} {reason}   {' '.join(sorted(names)[:4])}")
    print(f"{whole} whole, {failed} failed")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
