"""Runs what a repro holds again: python -m torchdyn.replay FOLDER [--shrink]

FOLDER is what a message of torchdyn named, or the file of a graph. The graph is compiled and run on
random tensors beside eager; with --shrink, the smallest graph that fails in the same way is printed.
The exit status is 1 where the fault shows, 0 where compiled does what eager does.
"""
import argparse
import sys

from torchdyn import _C


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m torchdyn.replay",
                                     description="Runs what a repro holds beside eager.")
    parser.add_argument("folder", help="of the repro, or the file of a graph")
    parser.add_argument("--shrink", action="store_true",
                        help="look for the smallest graph that fails alike, and print it")
    arguments = parser.parse_args()
    try:
        problem, smallest = _C.replay(arguments.folder, arguments.shrink)
    except ValueError as error:
        parser.error(str(error))
    if not problem:
        print("compiled, it does what it does in eager")
        return 0
    print(f"# {problem}\n{smallest}", end="")
    return 1


if __name__ == "__main__":
    sys.exit(main())
