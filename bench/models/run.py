#!/usr/bin/env python3
"""How fast do models train compiled, beside eager and PyTorch's own compiler?

  bench/models/run.py                         the eight models, AMP bf16, eager and ours
  bench/models/run.py --inductor              Inductor's in the same process: a minute a model
  bench/models/run.py --models 'bert|gpt2' --steps 20 --top 12 --record FILE
  bench/models/run.py --jobs 8                first steps at once (they take longer so), timed in turn
  bench/models/run.py --models vit --device cpu --batch 2 --steps 1      here, to see that it runs

PYTHONPATH names the built package. Each model has a process and a cold cache of its own. A step is
forward and backward, without optimizer. "net s" is the first step without eager's and without
Dynamo's own capture. Of a step's kernels, those of vendors (products, convolutions, attention) are
told by their names. Budget: none slower than eager.
"""
import argparse
import concurrent.futures
import json
import math
import os
import re
import subprocess
import sys
import tempfile

LINE = "{:<14}{:<10}{:>9}{:>8}{:>9}{:>9}{:>8}{:>10}{:>10}{:>10}{:>11}"
HEAD = ("model", "", "ms", "times", "net s", "GiB", "memory", "launches", "kernel ms", "vendor ms",
        "loss")


def one_model(name, arguments, lock):
    """The record of a process that measures it; None, with its words shown, where that fails."""
    with tempfile.TemporaryDirectory() as cache:
        out = os.path.join(cache, "record.json")
        command = [sys.executable, "-B", __file__, "--one", name, "--out", out, "--lock", lock]
        for option in ("steps", "device", "batch", "top"):
            if getattr(arguments, option) is not None:
                command += [f"--{option}", str(getattr(arguments, option))]
        command += ["--inductor"] * arguments.inductor
        command += ["--channels-last"] * arguments.channels_last
        environment = {**os.environ, "TORCHDYN_CACHE_DIR": cache, "TORCHINDUCTOR_CACHE_DIR": cache}
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
        said = [line for line in done.stderr.splitlines() if line.startswith("torchdyn: ")]
        if done.returncode:
            print(f"{name}: {done.stderr[-600:]}")
            return None
        with open(out) as file:
            return json.load(file) | {"said": said}


def show(name, record):
    eager, dynamo = record["plain"], record["eager"]["first_s"]
    for key, row in record.items():
        if key in ("eager", "said"):
            continue
        net = max(row["first_s"] - max(dynamo, eager["first_s"]), 0)
        print(LINE.format(
            name, {"plain": "eager"}.get(key, key), f"{row['ms']:.2f}", f"{eager['ms'] / row['ms']:.2f}",
            "-" if key == "plain" else f"{net:.1f}", f"{row['gib']:.2f}",
            f"{row['gib'] / eager['gib']:.2f}" if eager["gib"] else "-", row["launches"],
            f"{row['kernel_ms']:.1f}", f"{row['vendor_ms']:.1f}", f"{row['losses'][0]:.4f}"))
        for kernel, count, ms in row["top"]:
            print(f"    {ms:8.3f} ms {count:5} x {kernel[:110]}")
    for line in record["said"][:4]:
        print(f"    {line[:160]}")
    sys.stdout.flush()


def summary(records):
    for key in sorted({key for r in records for key in r} - {"plain", "eager", "said"}):
        times = [r["plain"]["ms"] / r[key]["ms"] for r in records if key in r]
        mean = math.exp(sum(map(math.log, times)) / len(times))
        print(f"{key}: {mean:.2f} times eager (geometric mean of {len(times)})")


def parse():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", default="", help="a regular expression")
    parser.add_argument("--inductor", action="store_true")
    parser.add_argument("--steps", type=int, default=10, help="of a round; two are timed of each, in turns")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--batch", type=int, help="instead of the row's")
    parser.add_argument("--channels-last", action="store_true", help="eager's and ours")
    parser.add_argument("--top", type=int, default=0, help="kernels told by name")
    parser.add_argument("--record", help="a file to which a JSON line a model is added")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    parser.add_argument("--out", help=argparse.SUPPRESS)
    parser.add_argument("--lock", help=argparse.SUPPRESS)
    parser.add_argument("--jobs", type=int, default=1, help="models at once until they are timed")
    return parser.parse_args()


def main():
    arguments = parse()
    if arguments.one:
        from measure import measure
        backends = ["torchdyn"] + ["inductor"] * arguments.inductor
        record = measure(arguments.one, backends, arguments.steps, arguments.device, arguments.batch,
                         arguments.channels_last, arguments.top, arguments.lock)
        with open(arguments.out, "w") as file:
            json.dump(record, file)
        return
    from rows import ROWS
    print(LINE.format(*HEAD), flush=True)
    records = []
    names = list(filter(re.compile(arguments.models).search, ROWS))
    with (tempfile.NamedTemporaryFile() as lock,
          concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool):
        found = pool.map(lambda name: one_model(name, arguments, lock.name), names)
        for name, record in zip(names, found):
            if record is None:
                continue
            show(name, record)
            records.append(record)
            if arguments.record:
                with open(arguments.record, "a") as file:
                    file.write(json.dumps({"model": name, **record}) + "\n")
    summary(records)


if __name__ == "__main__":
    main()
