#!/usr/bin/env python3
"""What does our own capture of frames take on the models of tests/models, beside Dynamo's?

    PYTHONPATH=build/release/python python3 bench/capture.py [MODEL...]

Budget: a fifth of Dynamo's. Both give their graphs to a backend that runs them as they are; the time is the CPU's
of the first call less that of the second, in a process that has captured another function before. What is
timed has given eager's values.
"""
import argparse
import math
import os
import sys
import time
import warnings

warnings.simplefilter("ignore")
sys.path.append(os.path.join(os.path.dirname(__file__), "..", "tests", "models"))

import torch  # noqa: E402
import torchdyn  # noqa: E402
from apart import apart  # noqa: E402
from measure import ROWS  # noqa: E402

CAPTURES = {"ours": torchdyn.compile, "dynamo": torch.compile}


def attempt(capture, name):
    graphs = 0

    def runs_as_it_is(graph_module, example_inputs):
        nonlocal graphs
        graphs += 1
        return graph_module.forward

    torch.manual_seed(0)
    task = ROWS[name].build()
    inputs = task.inputs(2)
    # Programs that ask for it compute otherwise when they are compiled.
    torch.compiler._is_compiling_flag = True
    expected = task(**inputs)
    torch.compiler._is_compiling_flag = capture is torchdyn.compile
    capture(lambda x: x * 2 + 1, backend=runs_as_it_is)(torch.ones(3))
    graphs = 0
    compiled = capture(task, backend=runs_as_it_is)
    times = []
    for _ in range(2):
        start = time.process_time()
        actual = compiled(**inputs)
        times.append(time.process_time() - start)
    torch.testing.assert_close(actual, expected)
    return {"s": times[0] - times[1], "graphs": graphs}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", choices=[*ROWS, []])
    torch.set_num_threads(1)
    torch._dynamo.config.allow_rnn = True  # else Dynamo leaves LSTMs and GRUs to eager
    ratios = []
    for name in parser.parse_args().names or ROWS:
        ours, theirs = (apart(attempt, capture, name) for capture in CAPTURES.values())
        if failure := ours.get("error") or theirs.get("error"):
            print(f"{name:18} {failure}", flush=True)
            continue
        ratios.append(ours["s"] / theirs["s"])
        print(f"{name:18} ours {ours['s']:6.2f} s, {ours['graphs']:2} graphs; Dynamo {theirs['s']:6.2f} s, "
              f"{theirs['graphs']:2} graphs; {ratios[-1]:.2f}", flush=True)
    if ratios:
        mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
        print(f"{len(ratios)} models: {mean:.2f} of Dynamo's (geometric mean), at most {max(ratios):.2f}")


if __name__ == "__main__":
    main()
