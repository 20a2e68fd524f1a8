"""The cases of PyTorch's operator database: every OpInfo, dtype and sample.

    for row in rows("cpu"): cases = cases_of(row)
"""
import dataclasses
import os
import random
from collections.abc import Callable
from typing import Any

os.environ.setdefault("PYTORCH_TESTING_DEVICE_ONLY_FOR", "cpu,cuda")
import numpy
import torch
from torch.testing._internal.common_methods_invocations import op_db
from torch.testing._internal.opinfo.core import BinaryUfuncInfo, ReductionOpInfo, UnaryUfuncInfo

DTYPES = (torch.float32, torch.float64, torch.bfloat16, torch.float16, torch.int64, torch.int32,
          torch.uint8, torch.bool, torch.complex64)
OPS = {op.full_name: op for op in op_db}


@dataclasses.dataclass(frozen=True, order=True)
class Row:
    """One operator (an OpInfo) on one dtype: a line of the record."""
    op: str
    dtype: str
    device: str

    def __str__(self):
        return f"{self.op} {self.dtype} {self.device}"


@dataclasses.dataclass
class Case:
    row: Row
    index: int  # among the row's cases; error inputs come last
    function: Callable
    args: tuple[Any, Any, Any]  # input, positional, keywords: pytrees with tensors


KINDS = ("pointwise", "reduction", "view")


def kind_of(row):
    """One of KINDS as PyTorch's schemas and tags have it, else "other"."""
    op = OPS[row.op]
    packet = getattr(torch.ops.aten, op.aten_name, None)
    overloads = [getattr(packet, name) for name in packet.overloads()] if packet else []
    tags = {tag for overload in overloads for tag in overload.tags}
    if any(a.alias_info is not None and not a.alias_info.is_write
           for overload in overloads for a in overload._schema.arguments):
        return "view"
    if torch.Tag.view_copy in tags:
        return "view"
    if torch.Tag.reduction in tags or isinstance(op, ReductionOpInfo):
        return "reduction"
    if torch.Tag.pointwise in tags or isinstance(op, (UnaryUfuncInfo, BinaryUfuncInfo)):
        return "pointwise"
    return "other"


def rows(device):
    """All rows, in the order of the database."""
    kind = torch.device(device).type
    return [Row(op.full_name, str(dtype)[len("torch."):], kind)
            for op in op_db for dtype in DTYPES if op.supports_dtype(dtype, kind)]


def seed(value=0):
    random.seed(value)
    numpy.random.seed(value)
    torch.manual_seed(value)


def cases_of(row):
    """A row's cases, the same on every call."""
    op, dtype = OPS[row.op], getattr(torch, row.dtype)
    differentiable = dtype in op.supported_backward_dtypes(row.device) and op.supports_autograd
    seed()
    samples = list(op.sample_inputs(row.device, dtype, requires_grad=differentiable))
    cases = [Case(row, i, _call(op, s), (s.input, s.args, s.kwargs))
             for i, s in enumerate(samples)]
    if op.error_inputs_func is not None and row.dtype == "float32":
        for error in op.error_inputs(row.device):
            s = error.sample_input
            cases.append(Case(row, len(cases), _call(op, s), (s.input, s.args, s.kwargs)))
    return cases


def _call(op, sample):
    def call(value, args, kwargs):
        return sample.output_process_fn_grad(op.op(value, *args, **kwargs))
    return call
