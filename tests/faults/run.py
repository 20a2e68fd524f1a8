#!/usr/bin/env python3
"""Hurts the kernel cache of a program, again and again, and sees that it computes what eager does.

    tests/faults/run.py build/dev/bin --rounds 1000     # a fault, then a run that must be whole
    tests/faults/run.py build/dev/bin --processes 64    # at once, into an empty cache
    tests/faults/run.py build/dev/bin --every 1         # requests for memory and the like that fail

A round hurts in one of these ways: the program is killed at
any moment; a file of the cache is cut short, altered, emptied, removed or joined by another one; the
cache is removed while the program runs; it cannot be written, and perhaps no temporary folder either;
a disk is full after some bytes. During the fault results must be eager's, and compiled where there is
a place for kernels; after it, everything must be compiled again. The exit status is 0 when nothing was
lost.
"""
import argparse
import collections
import os
import pathlib
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time

WHOLE = "3 compiled"
PATIENCE = 300  # seconds that a program may take


def start(program, cache, variables=None, **arguments):
    environment = {**os.environ, "TORCHDYN_CACHE_DIR": str(cache), "OMP_NUM_THREADS": "1",
                   **(variables or {})}
    return subprocess.Popen([program], env=environment, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True, **arguments)


def seconds_of(pid):
    """On a processor, until now, with the compilers that it waited for."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


def problem_of(process, whole):
    """Empty where the program ended well."""
    try:
        out, err = process.communicate(timeout=PATIENCE)
    except subprocess.TimeoutExpired:  # the processor's time tells what hangs from what waits
        busy = seconds_of(process.pid)
        process.kill()
        process.communicate()
        return f"no end after {PATIENCE} s, {busy:.0f} of them on a processor"
    if process.returncode != 0:
        return f"exit status {process.returncode}: {(out + err)[-400:]}"
    return f"not all was compiled: {(out + err)[-400:]}" if whole and WHOLE not in out else ""


def files_in(cache):
    return sorted(path for path in cache.rglob("*") if path.is_file())


def killed(program, cache, chance):
    process = start(program, cache, start_new_session=True)
    time.sleep(chance.uniform(0.0, 1.5))
    os.killpg(process.pid, signal.SIGKILL)  # its compilers with it
    process.communicate()
    return ""


def full_disk(program, cache, chance):
    limit = chance.choice([0, 100, 4096, 20000])

    def small_files():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    for path in files_in(cache):
        path.unlink()
    return problem_of(start(program, cache, preexec_fn=small_files), whole=False)


def removed_meanwhile(program, cache, chance):
    for path in files_in(cache):
        path.unlink()
    process = start(program, cache)
    time.sleep(chance.uniform(0.0, 1.5))
    shutil.rmtree(cache, ignore_errors=True)
    return problem_of(process, whole=False)


def not_writable(program, cache, chance):
    """Not even for root. Kernels are built in a temporary folder, or in /tmp where there is none."""
    with tempfile.NamedTemporaryFile() as file:
        nowhere = [f"{file.name}/below", "/proc/torchdyn"]
        return problem_of(start(program, chance.choice(nowhere),
                                {"TMPDIR": chance.choice([*nowhere, "/tmp"])}), whole=True)


def without_temporary_folder(program, cache, chance):
    for path in files_in(cache):
        path.unlink()
    return problem_of(start(program, cache, {"TMPDIR": "/proc/torchdyn"}), whole=True)


def on_a_file(hurt):
    def fault(program, cache, chance):
        for path in chance.sample(files_in(cache), k=min(3, len(files_in(cache)))):
            hurt(path, chance)
        return ""
    return fault


def cut_short(path, chance):
    os.truncate(path, chance.randrange(path.stat().st_size + 1))


def altered(path, chance):
    content = bytearray(path.read_bytes())
    for _ in range(min(8, len(content))):
        content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
    path.write_bytes(content)


FAULTS = {
    "killed": killed,
    "full disk": full_disk,
    "removed meanwhile": removed_meanwhile,
    "not writable": not_writable,
    "no temporary folder": without_temporary_folder,
    "cut short": on_a_file(cut_short),
    "altered": on_a_file(altered),
    "emptied": on_a_file(lambda path, chance: path.write_bytes(b"")),
    "removed": on_a_file(lambda path, chance: path.unlink()),
    "joined": on_a_file(lambda path, chance: path.with_suffix(".other").write_bytes(b"not ours")),
}


def rounds(program, count, seed, cache):
    chance, counts, lost = random.Random(seed), collections.Counter(), 0
    for number in range(1, count + 1):
        name = chance.choice(list(FAULTS))
        counts[name] += 1
        problem = (FAULTS[name](program, cache, chance)
                   or problem_of(start(program, cache), whole=True))
        if problem:
            lost += 1
            print(f"round {number} (seed {seed}), {name}: {problem}", flush=True)
        if number % 50 == 0:
            print(f"{number} of {count} rounds, {lost} lost", flush=True)
    told = ", ".join(f"{name} {n}" for name, n in sorted(counts.items()))
    print(f"{count} rounds ({told}): {lost} lost")
    return lost


def processes(program, count, cache):
    running = [start(program, cache) for _ in range(count)]
    problems = [p for p in (problem_of(process, whole=True) for process in running) if p]
    for problem in problems[:5]:
        print(problem)
    print(f"{count} processes at once: {len(problems)} lost")
    return len(problems)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path, help="of the programs")
    parser.add_argument("--rounds", type=int, default=0)
    parser.add_argument("--processes", type=int, default=0)
    parser.add_argument("--every", type=int, default=0, help="of how many requests one fails")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        cache, program = pathlib.Path(folder), options.folder.resolve() / "fault_subject"
        lost = processes(program, options.processes, cache) if options.processes else 0
        lost += rounds(program, options.rounds, options.seed, cache) if options.rounds else 0
    if options.every:
        command = [options.folder.resolve() / "fault_injection", "--every", str(options.every),
                   "--seed", str(options.seed)]
        lost += subprocess.run(command, check=False).returncode != 0
    sys.exit(lost > 0)


if __name__ == "__main__":
    main()
