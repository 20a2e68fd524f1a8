#!/usr/bin/env python3
"""How fast do models train, or infer, compiled, beside eager and PyTorch's own compiler?

  bench/models/run.py                         the eight models, AMP bf16, eager and ours
  bench/models/run.py --inductor              Inductor's beside them: a minute a model
  bench/models/run.py --models 'bert|gpt2' --steps 20 --top 12 --record FILE
  bench/models/run.py --jobs 8                eight first steps at once (they take longer so), timed in turn
  bench/models/run.py --further               twenty-eight models more instead
  bench/models/run.py --inference             without gradients, at the row's batch and at 1
  bench/models/run.py --models vit --device cpu --batch 2 --steps 1      here, to see that it runs

PYTHONPATH names the built package. Each model has a process and a cold cache of its own, and where
it trains one for eager and for each compiler. A step is forward and backward, without optimizer.
"net s" is the first step without Dynamo's own over eager's operators, in a process that has run
those before; "warm s" the same of a second process over the first one's caches, where --warm asks
for one. "GiB" is what the training holds of the device. Of a step's kernels, those of vendors
(products, convolutions, attention) are told by their names. Inference: the logits under autocast; "ms" of
calls that are waited for, "in a row" of twenty calls that are waited for once; Inductor's with its
CUDA graphs (reduce-overhead); "apart" is the distance of logits from eager's. Budget: none slower
than eager.
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

LINE = "{:<14}{:<10}{:>9}{:>8}{:>9}{:>9}{:>9}{:>8}{:>10}{:>10}{:>10}{:>11}"
HEAD = ("model", "", "ms", "times", "net s", "warm s", "GiB", "memory", "launches", "kernel ms",
        "vendor ms", "loss")
INFERENCE_LINE = "{:<14}{:>6} {:<10}{:>9}{:>8}{:>10}{:>8}{:>9}{:>10}{:>10}{:>11}{:>10}"
INFERENCE_HEAD = ("model", "batch", "", "ms", "times", "in a row", "times", "net s", "launches",
                  "kernel ms", "vendor ms", "apart")


def one_training(name, key, arguments, lock):
    """The row of a process that measures it; None, with its words shown, where that fails."""
    with tempfile.TemporaryDirectory() as cache:
        row = one_process(name, arguments, lock, cache, arguments.steps, key)
        if row and arguments.warm and key != "plain" and (warm := one_process(name, arguments, lock, cache, 0, key)):
            row["warm"] = warm
        return row


def one_inference(name, arguments, lock):
    """The same of inference: of all compilers, in turns."""
    with tempfile.TemporaryDirectory() as cache:
        return one_process(name, arguments, lock, cache, arguments.steps)


def one_process(name, arguments, lock, cache, steps, key=None):
    out = os.path.join(cache, "record.json")
    command = [sys.executable, "-B", __file__, "--one", name, "--out", out, "--lock", lock,
               "--steps", str(steps), *(["--backend", key] if key else [])]
    for option in ("device", "batch", "top"):
        if getattr(arguments, option) is not None:
            command += [f"--{option}", str(getattr(arguments, option))]
    command += ["--inductor"] * (arguments.inductor and key is None)
    command += ["--channels-last"] * arguments.channels_last
    command += ["--inference"] * arguments.inference
    environment = {**os.environ, "TORCHDYN_CACHE_DIR": cache, "TORCHINDUCTOR_CACHE_DIR": cache}
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    said = [line for line in done.stderr.splitlines() if line.startswith("torchdyn: ")]
    if done.returncode:
        print(f"{name}: {done.stderr[-600:]}")
        return None
    with open(out) as file:
        return json.load(file) | {"said": said}


def show(name, rows):
    eager = rows["plain"]
    for key, row in rows.items():
        print(LINE.format(
            name, {"plain": "eager"}.get(key, key), f"{row['ms']:.2f}", f"{eager['ms'] / row['ms']:.2f}",
            "-" if key == "plain" else f"{net_seconds(row):.1f}",
            f"{net_seconds(row['warm']):.1f}" if "dynamo_s" in row.get("warm", {}) else "-",
            f"{row['gib']:.2f}", f"{row['gib'] / eager['gib']:.2f}" if eager["gib"] else "-",
            row["launches"], f"{row['kernel_ms']:.1f}", f"{row['vendor_ms']:.1f}",
            f"{row['losses'][0]:.4f}"))
        show_top(row)
        show_said(row["said"])


def show_inference(name, batch, record):
    eager = record["plain"]
    dynamo_s = record["eager"]["first_s"]
    for key, row in record.items():
        if key == "eager":  # tells what Dynamo itself takes
            continue
        print(INFERENCE_LINE.format(
            name, batch, {"plain": "eager"}.get(key, key), f"{row['ms']:.2f}",
            f"{eager['ms'] / row['ms']:.2f}", f"{row['row_ms']:.2f}",
            f"{eager['row_ms'] / row['row_ms']:.2f}",
            "-" if key == "plain" else f"{net_seconds(row | {'dynamo_s': dynamo_s}):.1f}", row["launches"],
            f"{row['kernel_ms']:.1f}", f"{row['vendor_ms']:.1f}", f"{row['apart']:.1e}"))
        show_top(row)


def net_seconds(row):
    """Of the first step, without what Dynamo takes with eager's operators."""
    return max(row["first_s"] - row["dynamo_s"], 0)


def show_top(row):
    for kernel, count, ms in row["top"]:
        print(f"    {ms:8.3f} ms {count:5} x {kernel[:110]}")


def show_said(said):
    for line in said[:4]:
        print(f"    {line[:160]}")


def summary(records, figure="ms", what=""):
    for key in sorted({key for r in records for key in r} - {"plain", "eager"}):
        times = [r["plain"][figure] / r[key][figure] for r in records if key in r]
        mean = math.exp(sum(map(math.log, times)) / len(times))
        faster = sum(time > 1 for time in times)
        print(f"{key}: {mean:.2f} times eager{what} (geometric mean of {len(times)}; {faster} faster, "
              f"least {min(times):.2f})")


def inference_summary(records):
    """Batches of 1 apart from the rows' own."""
    for what, chosen in ((", batch 1", lambda batch: batch == "1"),
                         (", the row's batch", lambda batch: batch != "1")):
        of_batch = [record for batches in records for batch, record in batches.items()
                    if batch != "said" and chosen(batch)]
        summary(of_batch, "ms", what)
        summary(of_batch, "row_ms", f"{what}, in a row")


def parse():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", default="", help="a regular expression")
    parser.add_argument("--further", action="store_true", help="the other rows")
    parser.add_argument("--warm", action="store_true", help="first steps over filled caches too")
    parser.add_argument("--inductor", action="store_true")
    parser.add_argument("--inference", action="store_true", help="calls without gradients")
    parser.add_argument("--steps", type=int, default=10,
                        help="or calls; twice as many are timed")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--batch", type=int, help="instead of the row's")
    parser.add_argument("--channels-last", action="store_true", help="eager's and ours")
    parser.add_argument("--top", type=int, default=0, help="kernels told by name")
    parser.add_argument("--record", help="a file to which a JSON line a model is added")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    parser.add_argument("--backend", help=argparse.SUPPRESS)
    parser.add_argument("--out", help=argparse.SUPPRESS)
    parser.add_argument("--lock", help=argparse.SUPPRESS)
    parser.add_argument("--jobs", type=int, default=1, help="models at once until they are timed")
    arguments = parser.parse_args()
    if arguments.warm and arguments.inference:
        parser.error("--warm is of training")
    return arguments


def backends_of(arguments):
    return ["torchdyn"] + ["inductor"] * arguments.inductor


def measured(arguments):
    """What this process measures of one model."""
    last = arguments.channels_last, arguments.top, arguments.lock
    if not arguments.inference:
        from measure import measure
        return measure(arguments.one, arguments.backend, arguments.steps, arguments.device,
                       arguments.batch, *last)
    from inference import measure_inference
    from rows import ALL
    batches = [arguments.batch or ALL[arguments.one].batch, 1]
    return measure_inference(arguments.one, backends_of(arguments), arguments.steps,
                             arguments.device, batches, *last)


def measure_all(names, arguments, lock):
    """(name, record) of each model that ran, in order."""
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        if arguments.inference:
            found = pool.map(lambda name: one_inference(name, arguments, lock), names)
            yield from ((name, record) for name, record in zip(names, found) if record)
            return
        keys = ["plain", *backends_of(arguments)]
        rows = {(name, key): pool.submit(one_training, name, key, arguments, lock)
                for name in names for key in keys}
        for name in names:
            record = {key: row for key in keys if (row := rows[name, key].result())}
            if "plain" in record:
                yield name, record


def main():
    arguments = parse()
    if arguments.one:
        with open(arguments.out, "w") as file:
            json.dump(measured(arguments), file)
        return
    from rows import FURTHER, ROWS
    print(INFERENCE_LINE.format(*INFERENCE_HEAD) if arguments.inference else LINE.format(*HEAD),
          flush=True)
    records = []
    names = list(filter(re.compile(arguments.models).search, FURTHER if arguments.further else ROWS))
    with tempfile.NamedTemporaryFile() as lock:
        for name, record in measure_all(names, arguments, lock.name):
            if arguments.inference:
                for batch in [key for key in record if key != "said"]:
                    show_inference(name, batch, record[batch])
                show_said(record["said"])
            else:
                show(name, record)
            sys.stdout.flush()
            records.append(record)
            if arguments.record:
                with open(arguments.record, "a") as file:
                    file.write(json.dumps({"model": name, **record}) + "\n")
    (inference_summary if arguments.inference else summary)(records)


if __name__ == "__main__":
    main()
