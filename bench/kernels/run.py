#!/usr/bin/env python3
"""How near do compiled kernels come to the bandwidth of a copy, at which sizes?

  bench/kernels/run.py                        every row, eager and ours: about 150 s on a GPU
  bench/kernels/run.py --inductor --seconds 900     Inductor's in the same process
  bench/kernels/run.py --rows 'softmax|level 1 norm' --sizes 64M,1G --record FILE
  bench/kernels/run.py --device cpu --sizes 16K,1M       here, to see that it runs

PYTHONPATH names the built package. A row is an operator or a pattern at a dtype and a size, the
bytes of its largest input. GB/s are of the least bytes that must move, `share` is of a copy of a
tensor of that size in the same run, `kernels` are launches of ours and calls of ATen. What is as
large as 64 MiB comes first; what the seconds do not suffice for is counted at the end. Exit status
1 where a value is not eager's or a call failed.
Budget: 85 % of the copy from 64 MiB up.
"""
import argparse
import collections
import json
import math
import re
import sys
import time

import torch

from measure import Bench
from rows import GIB, KIB, MIB, ROWS

LARGE, BUDGET = 64 * MIB, 0.85
UNITS = {"K": KIB, "M": MIB, "G": GIB}
BACKENDS = ("torchdyn", "inductor")
LINE = "{:<24}{:<6}{:>9}{:>10}{:>10}{}{:>8}{:>9}{:>8}{:>9}  {}"
INDUCTOR = "{:>10}{:>8}"
FAMILY = "{:<24}{:>5}{:>8}{:>8}{:>13}  {}"

Cell = collections.namedtuple("Cell", "row dtype size")


def size_text(size):
    for unit, one in (("GiB", GIB), ("MiB", MIB)):
        if size >= one:
            return f"{size / one:.4g} {unit}"
    return f"{size / KIB:.4g} KiB"


def dtype_text(dtype):
    return {torch.bfloat16: "bf16", torch.float32: "f32"}[dtype]


def share(record, name="torchdyn"):
    return record[name]["gbps"] / record["copy_gbps"]


def ms_text(times):
    """* where the device may have waited for the host."""
    return f"{times['ms']:.4f}" + "*" * (not times["alone"]) if "ms" in times else "-"


def is_wrong(record):
    return any("wrong" in record.get(name, {}) for name in BACKENDS)


def notes(cell, record):
    ours = record["torchdyn"]
    found = [f"is {size_text(record['largest'])}"] if record["largest"] > 1.5 * cell.size else []
    found += [f"eager: {reason}" for reason in ours.get("eager_reasons", [])]
    found += [f"{name} WRONG: {record[name]['wrong']}" for name in BACKENDS
              if "wrong" in record.get(name, {})]
    found += [f"calls {', '.join(sorted(set(ours['calls'])))}"] if ours["calls"] else []
    return "; ".join(found)


def show(cell, record, inductor):
    ours, theirs = record["torchdyn"], record.get("inductor", {})
    figures = (f"{record['eager']['ms'] / ours['ms']:.2f}", f"{ours['gbps']:.0f}",
               f"{share(record):.0%}") if "ms" in ours else ("-",) * 3
    other = INDUCTOR.format(ms_text(theirs),
                            f"{share(record, 'inductor'):.0%}" if "ms" in theirs else "-")
    print(LINE.format(cell.row.name, dtype_text(cell.dtype), size_text(cell.size),
                      ms_text(record["eager"]), ms_text(ours), other if inductor else "", *figures,
                      f"{ours['kernels']}+{len(ours['calls'])}", notes(cell, record)).rstrip(),
          flush=True)


def mean(values):
    return math.exp(sum(map(math.log, values)) / len(values))


def label(cell):
    return f"{cell.row.name} {dtype_text(cell.dtype)} {size_text(cell.size)}"


def family_lines(done, name):
    """The share of `name` (ours or Inductor's), a family a line."""
    families = collections.defaultdict(list)
    for cell, record in done:
        if cell.size >= LARGE and "ms" in record.get(name, {}):
            families[cell.row.family].append((share(record, name), cell, record))
    if families:
        print(f"\n{name} from {size_text(LARGE)} up:")
        print(FAMILY.format("family", "rows", "mean", "least", "times eager", "at"))
    for family, found in families.items():
        least, cell, _ = min(found, key=lambda one: one[0])
        times = mean([record["eager"]["ms"] / record[name]["ms"] for _, _, record in found])
        print(FAMILY.format(family, len(found), f"{mean([one[0] for one in found]):.0%}",
                            f"{least:.0%}", f"{times:.2f}", label(cell)))


def summary(done, failed, left, copies):
    print("\ncopy: " + ", ".join(f"{size_text(size)} {gbps:.0f} GB/s"
                                 for size, gbps in sorted(copies.items())))
    for name in BACKENDS:
        family_lines(done, name)
    below = [(share(record), label(cell)) for cell, record in done
             if cell.size >= LARGE and "ms" in record["torchdyn"] and share(record) < BUDGET]
    if below:
        print(f"\nbelow {BUDGET:.0%}:")
        for value, name in sorted(below):
            print(f"{value:>6.0%}  {name}")
    wrong = [label(cell) for cell, record in done if is_wrong(record)]
    eager = [label(cell) for cell, record in done if "eager_reasons" in record["torchdyn"]]
    for title, names in (("not eager's values", wrong), ("ran in eager", eager),
                         ("failed", failed)):
        if names:
            print(f"\n{title}: {', '.join(names)}")
    if left:
        print(f"\nnot measured: {len(left)}, from {label(left[0])} on")


def chosen(arguments):
    """Rows that are large first, then smaller and smaller ones."""
    pattern = re.compile(arguments.rows)
    cells = [Cell(row, dtype, size) for row in ROWS.values()
             if pattern.search(f"{row.family}: {row.name}")
             for dtype in row.dtypes for size in arguments.sizes or row.sizes]
    return sorted(cells, key=lambda cell: max(LARGE - cell.size, 0))


def parse():
    def sizes(text):
        return [int(float(one[:-1]) * UNITS[one[-1].upper()]) for one in text.split(",")]

    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", default="", help="a regular expression over `family: name`")
    parser.add_argument("--sizes", type=sizes, help="instead of each row's, as 16K,64M,1G")
    parser.add_argument("--inductor", action="store_true")
    parser.add_argument("--seconds", type=float, default=150, help="no row begins later")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--record", help="a file to which a JSON line a row is added")
    return parser.parse_args()


def main():
    begin = time.monotonic()
    arguments = parse()
    bench = Bench(arguments.device, arguments.inductor)
    print(LINE.format("row", "dtype", "size", "eager ms", "ours ms",
                      INDUCTOR.format("inductor", "share") if arguments.inductor else "",
                      "times", "GB/s", "share", "kernels", ""), flush=True)
    done, failed, cells = [], [], chosen(arguments)
    for place, cell in enumerate(cells):
        if time.monotonic() - begin > arguments.seconds:
            left = cells[place:]
            break
        try:
            record = bench.measure(*cell)
        except Exception as error:  # one row's, which is told
            told = (str(error).strip() or "no message").splitlines()[0]
            print(f"{label(cell)} FAILED: {type(error).__name__}: {told[:200]}", flush=True)
            failed.append(label(cell))
            if isinstance(error, torch.AcceleratorError):  # no call works after it
                left = cells[place + 1:]
                break
            continue
        show(cell, record, arguments.inductor)
        done.append((cell, record))
        if arguments.record:
            with open(arguments.record, "a") as file:
                file.write(json.dumps({"row": cell.row.name, "family": cell.row.family,
                                       "dtype": dtype_text(cell.dtype), "size": cell.size,
                                       **record}) + "\n")
    else:
        left = []
    summary(done, failed, left, bench.copies)
    sys.exit(bool(failed) or any(is_wrong(record) for _, record in done))


if __name__ == "__main__":
    main()
