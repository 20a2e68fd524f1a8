"""Prints what becomes of ATen's operators: python -m torchdyn.operators [PATTERN]

A line an operator whose name the regular expression finds, "lowered aten::add.Tensor pointwise", and
how many there are of each kind. What the kinds mean stands in torchdyn/operators.h.
"""
import sys

from torchdyn import _C

if __name__ == "__main__":
    sys.stdout.write(_C.operators_text(*sys.argv[1:2]))
